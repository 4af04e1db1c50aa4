"""PyTerrier, BEIR and ir_datasets by the libraries themselves: their measures are those of our own evaluation."""

import logging

import pytest

from corpora.errors import InputError
from corpora.paper import Paper
from ses.frameworks.source import PLAIN, text_of
from tests.beir_folders import write_beir
from tests.ses.service.conftest import ODD

pytestmark = [pytest.mark.frameworks, pytest.mark.slow]

TOPICS = {"1": "masks virus", "2": "lung cell infection", "3": "quantum star", "4": "brain model"}
QRELS = {"1": {"<b>": 2, "p00003": 1}, "2": {"p00005": 1, "p00010": 1}, "3": {"p00040": 1}, "4": {"p00007": 1}}


@pytest.fixture(scope="module")
def measured(library):
    """Our own measures by mode."""
    found = library["papers"].evaluate(topics=TOPICS, qrels=QRELS, measures=["nDCG@10", "AP"])
    return {mode: {name: found.mean(name, mode) for name in ("nDCG@10", "AP")} for mode in found.systems}


def frames():
    import pandas as pd

    topics = pd.DataFrame(TOPICS.items(), columns=["qid", "query"])
    judged = [(query, paper, gain) for query, gains in QRELS.items() for paper, gain in gains.items()]
    return topics, pd.DataFrame(judged, columns=["qid", "docno", "label"])


def test_an_experiment_of_pyterrier(index, measured):
    import pyterrier as pt

    from ses.frameworks.pyterrier import PyTerrierRetriever

    ours = {mode: PyTerrierRetriever(index, options={"mode": mode}) for mode in measured}
    table = pt.Experiment(
        list(ours.values()), *frames(), [pt.measures.nDCG @ 10, pt.measures.AP], names=list(ours)
    ).set_index("name")
    for mode, values in measured.items():
        assert table.loc[mode].to_dict() == pytest.approx(values)
    assert measured["lexical"] != measured["vector"]
    assert not pt.java.started()


def test_operators_of_pyterrier(index):
    import pandas as pd
    import pyterrier as pt

    from ses.frameworks.pyterrier import PyTerrierRetriever

    ours = PyTerrierRetriever(index, options={"mode": "lexical"})
    found = (ours % 2).transform(pd.DataFrame([["7", "virus lung", "x"]], columns=["qid", "query", "more"]))
    hits = index.search("virus lung", mode="lexical", size=2, **PLAIN)
    assert found.to_dict("list") == {
        "qid": ["7", "7"],
        "query": ["virus lung"] * 2,
        "more": ["x", "x"],
        "docno": [hit.id for hit in hits],
        "score": [hit.score for hit in hits],
        "rank": [0, 1],
    }
    assert len(ours.search("virus")) > 10
    changed = pt.apply.query(lambda row: "masks") >> ours
    assert changed.search("lung").docno[0] == "<b>"
    both = (ours + PyTerrierRetriever(index, options={"mode": "vector"})).search("masks virus")
    assert both.docno[0] == "<b>"
    assert pt.inspect.transformer_outputs(ours, ["qid", "query"]) == ["qid", "query", "docno", "score", "rank"]
    with pytest.raises(pt.validate.InputValidationError):
        ours.transform(found)
    # Neither operators nor corrections: the quotation marks would demand the phrase.
    assert len(ours.search('"virus lung" virsu')) > 5
    typed = PyTerrierRetriever(index, options={"literal": False, "verbatim": False})
    assert len(typed.search('"virus lung star" virsu')) == 0


def test_queries_without_words_have_no_hits_in_pyterrier(library, caplog):
    import pandas as pd

    from ses.frameworks.pyterrier import PyTerrierRetriever

    ours = PyTerrierRetriever(library["papers"], options={"size": 2})
    assert repr(ours) == "ses(papers)"
    assert repr(PyTerrierRetriever()) == "ses(the default index)"
    table = pd.DataFrame([["1", " "], ["2", "virus"]], columns=["qid", "query"])
    with caplog.at_level(logging.WARNING, "ses"):
        assert list(ours.transform(table).qid) == ["2", "2"]
    assert "1 of 2 queries have no words, and no hits." in caplog.text
    empty = ours.transform(table[:0])
    assert (len(empty), str(empty.score.dtype), str(empty["rank"].dtype)) == (0, "float64", "int64")


def test_beir(index, measured, caplog):
    from beir.retrieval.evaluation import EvaluateRetrieval

    from ses.frameworks.beir import BeirSearch

    corpus = {paper.id: {"title": paper.title, "text": paper.abstract} for paper in index}
    evaluation = EvaluateRetrieval(BeirSearch(index, options={"mode": "vector"}), k_values=[10, 100])
    with caplog.at_level(logging.WARNING, "ses"):
        found = evaluation.retrieve(corpus, {**TOPICS, "5": ""})
    assert caplog.text == ""
    assert found["5"] == {}
    ndcg, average, _, _ = evaluation.evaluate(QRELS, {query: found[query] for query in TOPICS}, [10, 100])
    assert ndcg["NDCG@10"] == pytest.approx(measured["vector"]["nDCG@10"], abs=1e-5)
    assert average["MAP@100"] == pytest.approx(measured["vector"]["AP"], abs=1e-5)
    with caplog.at_level(logging.WARNING, "ses"):
        assert len(evaluation.retrieve({"a": {"text": "b"}}, {"1": "virus"}, filter="year==2021")["1"]) == 1
    assert "The index papers holds 61 papers, and the corpus has 1." in caplog.text
    for call in (evaluation.encode_and_retrieve, evaluation.retriever.search_from_files):
        with pytest.raises(InputError, match="made when it is indexed; call retrieve"):
            call({}, {})


@pytest.fixture
def registry(monkeypatch):
    """The registry of ir_datasets, which forgets what a test registers."""
    import ir_datasets

    monkeypatch.setattr(ir_datasets.registry, "_registered", dict(ir_datasets.registry._registered))
    return ir_datasets


def test_ir_datasets(index, registry):
    from ses.frameworks.ir_datasets import register

    register("ses/mine", index, topics=TOPICS, qrels=QRELS)
    dataset = registry.load("ses/mine")
    assert (dataset.docs_count(), len(dataset.docs), len(dataset.queries)) == (61, 61, 4)
    papers = {paper.id: paper for paper in index}
    documents = list(dataset.docs_iter())
    assert {one.doc_id: one.title for one in documents} == {paper.id: paper.title for paper in papers.values()}
    assert [*dataset.docs[1:3]] == documents[1:3]
    assert dataset.docs[2] == documents[2]
    with pytest.raises(InputError, match="counted from the end"):
        dataset.docs[-1]
    assert {query.query_id: query.text for query in dataset.queries} == TOPICS
    assert dataset.qrels.asdict() == QRELS
    store = dataset.docs_store()
    found = store.get("<b>")
    assert found == (
        "<b>",
        ODD.title,
        ODD.abstract,
        ODD.authors,
        2021,
        ODD.venue,
        "10.1000/1",
        "https://doi.org/10.1000/1",
    )
    assert found.default_text() == text_of(ODD)
    assert store.get_many([*papers, "none"]).keys() == papers.keys()
    with pytest.raises(KeyError):
        store.get("none")
    with pytest.raises(InputError, match="has a data set 'ses/mine' already; give another name"):
        register("ses/mine", index)


def test_ir_datasets_in_pyterrier(library, registry):
    import pyterrier as pt

    from ses.frameworks.ir_datasets import dataset_of, register
    from ses.frameworks.pyterrier import PyTerrierRetriever

    index = library["papers"]
    plain = dataset_of(index)
    assert (plain.has_docs(), plain.has_queries(), plain.has_qrels()) == (True, False, False)
    register("ses/judged", index, topics=TOPICS, qrels=QRELS)
    dataset = pt.get_dataset("irds:ses/judged")
    titled = PyTerrierRetriever(index) % 1 >> pt.text.get_text(dataset, "title")
    assert titled.search("masks").title[0] == ODD.title
    table = pt.Experiment([titled], dataset.get_topics(), dataset.get_qrels(), ["P_1"])
    assert 0 < table["P_1"][0] <= 1


def test_judged_queries_of_a_folder(library, registry, tmp_path):
    from ses.frameworks.ir_datasets import register

    write_beir(tmp_path, [Paper("<b>", "A")], {"1": "masks"}, dev={"1": {"<b>": 1}})
    dataset = register("ses/folder", library["papers"], data=tmp_path, split="dev")
    assert [tuple(query) for query in dataset.queries_iter()] == [("1", "masks")]
    assert [tuple(one) for one in dataset.qrels_iter()] == [("1", "<b>", 1, "0")]
    with pytest.raises(InputError, match="no split 'test'"):
        register("ses/other", library["papers"], data=tmp_path)
