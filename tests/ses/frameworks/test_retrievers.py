"""The retrievers of LangChain, LlamaIndex and Haystack, by the libraries themselves."""

import asyncio

import pytest

from corpora.errors import InputError
from ses.frameworks.source import text_of
from tests.ses.service.conftest import ODD

pytestmark = pytest.mark.slow

QUERY = "masks virus"


@pytest.mark.frameworks
def test_langchain(index):
    from langchain_core.prompts import PromptTemplate

    from ses.frameworks.langchain import LangChainRetriever

    retriever = LangChainRetriever(index=index, options={"size": 3}, tags=["ours"])
    found = retriever.invoke(QUERY)
    assert [one.id for one in found] == [hit.id for hit in index.search(QUERY, size=3)]
    assert (found[0].page_content, found[0].metadata["doi"]) == (text_of(ODD), "10.1000/1")
    assert len(retriever.invoke(QUERY, size=1, filter="year==2021")) == 1
    assert retriever.batch([QUERY, "lung"]) == [found, retriever.invoke("lung")]
    prompt = PromptTemplate.from_template("Read: {papers}")
    chain = retriever | (lambda papers: {"papers": papers[0].page_content}) | prompt
    assert chain.invoke(QUERY).text == f"Read: {text_of(ODD)}"

    async def asked():
        return await asyncio.gather(retriever.ainvoke(QUERY), retriever.ainvoke(QUERY, size=1))

    assert [[one.id for one in some] for some in asyncio.run(asked())] == [[one.id for one in found], ["<b>"]]


@pytest.mark.frameworks
def test_langchain_by_name(named):
    from ses.frameworks.langchain import LangChainRetriever

    name, engine = named
    retriever = LangChainRetriever(index=name, engine=engine)
    assert retriever.invoke(QUERY)[0].id == "<b>"
    with pytest.raises(InputError, match="sise"):
        retriever.invoke(QUERY, sise=3)
    with pytest.raises(InputError, match="has its engine already"):
        LangChainRetriever(index=retriever._source.opened, engine=engine)


@pytest.mark.frameworks
def test_llama_index(index):
    from llama_index.core.llms import MockLLM
    from llama_index.core.query_engine import RetrieverQueryEngine
    from llama_index.core.response_synthesizers import CompactAndRefine
    from llama_index.core.schema import MetadataMode

    from ses.frameworks.llama_index import LlamaIndexRetriever

    retriever = LlamaIndexRetriever(index, options={"size": 3})
    found = retriever.retrieve(QUERY)
    expected = index.search(QUERY, size=3)
    assert [(one.node.node_id, one.score) for one in found] == [(hit.id, hit.score) for hit in expected]
    node = found[0].node
    assert (node.get_content(MetadataMode.NONE), node.metadata["why"][:10]) == (text_of(ODD), "lexical 1,")
    assert node.get_content(MetadataMode.EMBED) == text_of(ODD)
    shown = node.get_content(MetadataMode.LLM)
    assert "doi: 10.1000/1" in shown
    assert "retracted: True" in shown
    assert not any(f"{name}:" in shown for name in ("title", "rank", "score", "why"))
    assert [one.node.node_id for one in asyncio.run(retriever.aretrieve(QUERY))] == [hit.id for hit in expected]
    engine = RetrieverQueryEngine(retriever, CompactAndRefine(llm=MockLLM()))
    assert [one.node.node_id for one in engine.query(QUERY).source_nodes] == [hit.id for hit in expected]


@pytest.mark.haystack
def test_haystack(index):
    from haystack import Pipeline
    from haystack.components.joiners import DocumentJoiner

    from ses.frameworks.haystack import HaystackRetriever

    pipeline = Pipeline()
    pipeline.add_component("words", HaystackRetriever(index, options={"size": 2, "mode": "lexical"}))
    pipeline.add_component("meaning", HaystackRetriever(index, options={"size": 2, "mode": "vector"}))
    pipeline.add_component("both", DocumentJoiner(join_mode="concatenate"))
    pipeline.connect("words", "both.documents")
    pipeline.connect("meaning", "both.documents")
    words = [hit.id for hit in index.search(QUERY, size=2, mode="lexical")]
    meaning = [hit.id for hit in index.search(QUERY, size=1, mode="vector")]
    asked = {"words": {"query": QUERY}, "meaning": {"query": QUERY, "options": {"size": 1}}}
    for found in (pipeline.run(asked), asyncio.run(pipeline.run_async(asked))):
        documents = found["both"]["documents"]
        assert {one.id for one in documents} == {*words, *meaning}
        (odd,) = (one for one in documents if one.id == "<b>")
        assert (odd.content, odd.meta["year"]) == (text_of(ODD), 2021)
    with pytest.raises(InputError, match="open index can't be saved"):
        pipeline.dumps()


@pytest.mark.haystack
def test_a_pipeline_of_haystack_is_saved(named):
    from haystack import Pipeline

    from ses.frameworks.haystack import HaystackRetriever

    pipeline = Pipeline()
    pipeline.add_component("retriever", HaystackRetriever(*named, {"size": 2, "filter": "year==2021"}))
    again = Pipeline.loads(pipeline.dumps(), allowed_modules=["ses.frameworks.haystack"])
    assert again.dumps() == pipeline.dumps()
    retriever = again.get_component("retriever")
    assert "opened" not in vars(retriever._source)
    retriever.warm_up()
    assert "opened" in vars(retriever._source)
    assert again.run({"query": QUERY})["retriever"]["documents"][0].id == "<b>"
