"""`POST /v1/encode`, `/v1/embeddings` and `/v1/rerank`: what other clients send and read.

OpenAI's client asks for base64 unless told otherwise. Elasticsearch's service `openai` sends `user` and `dimensions`,
connectors of OpenSearch `content_type`, and `top_n` for reranking.
"""

from __future__ import annotations

import base64
import re
import shutil
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from starlette.testclient import TestClient

import ses
from ses.service import encoding
from ses.service.app import make_app
from ses.service.service import Service
from ses.service.settings import ServiceSettings
from tests.encoders.checkpoints import make_sentence_transformers
from tests.tiny import make_model, papers

pytestmark = pytest.mark.serve

TEXTS = ["virus lung", "a mouse heart and blood"]


@pytest.fixture(scope="module")
def model(small_model):
    return ses.load_model(small_model, embedding_cache=False)


def test_vectors_are_those_of_python(client, model):
    reply = client.post("/v1/encode", json={"texts": TEXTS, "format": "qry"})
    assert reply.status_code == 200
    found = reply.json()
    np.testing.assert_allclose(found["vectors"], model.encode(TEXTS, "qry"), atol=1e-6)
    assert found["fingerprint"] == model.card.fingerprint
    assert (found["model"], found["format"], found["dimension"]) == ("model", "qry", 64)
    assert found["similarity"] == model.card.similarity


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """A library of an index with words beside CLF and an own model of RGN, and a client of its service."""
    folder = tmp_path_factory.mktemp("stored")
    make_sentence_transformers(folder / "model", seed=4, layers=1)
    make_model(folder / "own", seed=1, codes=True, width=32)
    library = ses.open(
        folder / "indexes", model=str(folder / "model"), data_dir=folder / "data", cache_dir=folder / "cache"
    )
    library.index("papers", papers(60), formats=["prx", "clf"], own={"rgn": str(folder / "own")})
    with TestClient(make_app(Service(library, ServiceSettings())), raise_server_exceptions=False) as client:
        yield library, client, folder


@pytest.mark.parametrize(("task_format", "dimension"), [("prx", 64), ("clf", 79), ("rgn", 32)])
def test_the_vectors_of_an_index_are_those_that_it_stores(stored, task_format, dimension):
    library, client, _ = stored
    paper = papers(3)[2]
    index = library["papers"].index
    held = index.vectors([paper.id], task_format)[paper.id]
    text = {"title": paper.title, "abstract": paper.abstract}
    for asked in ({}, {"index": "papers"}):
        found = client.post("/v1/encode", json={"texts": [text], "format": task_format, **asked}).json()
        np.testing.assert_allclose(found["vectors"][0], held, atol=1e-5)
        assert (found["dimension"], found["fingerprint"]) == (dimension, index.schema.maker(task_format).fingerprint)
    body = {"input": f"{paper.title}\n{paper.abstract}", "model": f"papers:{task_format}", "dimensions": dimension}
    (one,) = client.post("/v1/embeddings", json=body).json()["data"]
    np.testing.assert_allclose(one["embedding"], held, atol=1e-5)


def test_words_are_found_in_title_and_abstract_without_what_the_model_reads_between():
    words = SimpleNamespace(beside=lambda _, said: {"clf": said})
    encoder = SimpleNamespace(encode=lambda texts, _: texts)
    chosen = encoding.Chosen(encoder, encoding.Format.CLF, words)
    assert chosen.encode(["virus [SEP] lung"], ["virus lung"]) == ["virus lung"]
    assert chosen.encode(["virus lung"]) == ["virus lung"]


def test_a_model_that_is_named_makes_its_own_vectors_alone(stored):
    _, client, folder = stored
    found = client.post("/v1/encode", json={"texts": TEXTS, "format": "clf", "model": "model"}).json()
    made = ses.load_model(str(folder / "model"), embedding_cache=False)
    np.testing.assert_allclose(found["vectors"], made.encode(TEXTS, "clf"), atol=1e-5)
    assert found["fingerprint"] == made.card.fingerprint


def test_a_model_of_papers_that_has_changed_is_told(stored, tmp_path):
    library, _, folder = stored
    (folder / "own").rename(tmp_path / "away")
    try:
        make_model(folder / "own", seed=9, codes=True, width=32)
        with TestClient(make_app(Service(ses.Library(library._settings), ServiceSettings()))) as client:
            reply = client.post("/v1/encode", json={"texts": TEXTS, "format": "rgn"})
    finally:
        shutil.rmtree(folder / "own")
        (tmp_path / "away").rename(folder / "own")
    assert reply.status_code == 400
    assert "The rgn vectors of the index papers were made by another" in reply.json()["detail"]


def test_without_an_index_the_default_model_encodes(tmp_path, small_model, model):
    library = ses.open(tmp_path / "none", model=small_model, data_dir=tmp_path / "data", cache_dir=tmp_path / "cache")
    with TestClient(make_app(Service(library, ServiceSettings())), raise_server_exceptions=False) as client:
        reply = client.post("/v1/encode", json={"texts": TEXTS, "format": "qry"})
        assert client.post("/v1/encode", json={"texts": TEXTS, "index": "none"}).status_code == 404
        assert client.post("/v1/encode", json={"texts": TEXTS, "model": "none"}).status_code == 404
    np.testing.assert_allclose(reply.json()["vectors"], model.encode(TEXTS, "qry"), atol=1e-6)


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        ([""], "Text 0 is empty"),
        ([" "], "Text 0 is empty"),
        ([{"title": ""}], "Text 0 is empty"),
        ([], "There is no text to encode"),
        ("", "texts can't be ''; give a list"),
    ],
)
def test_texts_without_words_are_told(client, texts, said):
    reply = client.post("/v1/encode", json={"texts": texts})
    assert (reply.status_code, said in reply.json()["detail"]) == (400, True), reply.json()


def test_papers_are_encoded_as_in_the_index(client, library, model):
    paper = next(iter(library["papers"]))
    body = {"texts": [{"title": paper.title, "abstract": paper.abstract}], "encoding": "base64", "index": "papers"}
    (vector,) = client.post("/v1/encode", json=body).json()["vectors"]
    held = library["papers"].index.vectors([paper.id], "prx")[paper.id]
    np.testing.assert_allclose(np.frombuffer(base64.b64decode(vector), "<f4"), held, atol=1e-6)


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        ({}, "prx"),
        ({"model": "model"}, "prx"),
        ({"model": "model:clf"}, "clf"),
        ({"model": "papers:rgn"}, "rgn"),
        ({"input_type": "query", "user": "u", "dimensions": 64}, "qry"),
        ({"content_type": "passage"}, "prx"),
        ({"input_type": "search_document", "model": "model:prx"}, "prx"),
        ({"input_type": "classification"}, "clf"),
    ],
)
def test_embeddings_have_the_format_that_a_client_names(client, model, body, wanted):
    reply = client.post("/v1/embeddings", json={"input": TEXTS, **body})
    assert reply.status_code == 200
    found = reply.json()
    assert [(one["object"], one["index"]) for one in found["data"]] == [("embedding", 0), ("embedding", 1)]
    np.testing.assert_allclose([one["embedding"] for one in found["data"]], model.encode(TEXTS, wanted), atol=1e-6)
    assert (found["object"], found["model"]) == ("list", f"model:{wanted}")
    tokens = sum(len(model.encoder.tokenizer.encode(text).ids) for text in TEXTS)
    assert found["usage"] == {"prompt_tokens": tokens, "total_tokens": tokens}


def test_a_single_text_in_base64(client, model):
    body = {"input": TEXTS[0], "model": "model", "encoding_format": "base64"}
    (one,) = client.post("/v1/embeddings", json=body).json()["data"]
    vector = np.frombuffer(base64.b64decode(one["embedding"]), "<f4")
    np.testing.assert_allclose(vector, model.encode(TEXTS[:1])[0], atol=1e-6)


def test_the_first_of_several_lines_is_a_title(client, model):
    body = {"input": "Virus\nA lung.\n A mouse."}
    (one,) = client.post("/v1/embeddings", json=body).json()["data"]
    text = model.card.text("Virus", "A lung. A mouse.")
    assert text != "Virus A lung. A mouse."
    np.testing.assert_allclose(one["embedding"], model.encode([text])[0], atol=1e-6)


@pytest.mark.parametrize("empty_parts", ["dropped", "kept"])
@pytest.mark.parametrize(
    ("text", "title", "abstract"),
    [("Virus\n", "Virus", ""), ("\n Virus \r\n A lung.\n", "Virus", "A lung."), ("Virus", "Virus", None)],
)
def test_a_line_end_after_a_title_says_that_there_is_no_abstract(model, empty_parts, text, title, abstract):
    card = replace(model.card, empty_parts=empty_parts)
    encoder = SimpleNamespace(card=card)
    assert encoding.Chosen(encoder, encoding.Format.PRX).text(text) == card.text(title, abstract)
    assert encoding.Chosen(encoder, encoding.Format.QRY).text(text) == text


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"input": [1, 2, 3]}, "Numbers of tokens can't be read"),
        ({"input": [[1, 2], [3]]}, "Numbers of tokens can't be read"),
        ({"input": ["a", "   "]}, "Text 1 is empty"),
        ({"input": "a", "dimensions": 32}, "Vectors of this model have 64 numbers, not 32"),
        ({"input": "a", "input_type": "zzz"}, "There is no format 'zzz'"),
        ({"input": "a", "input_type": "query", "model": "model:clf"}, "Two formats are asked for, clf and qry"),
        ({"input": "a", "input_type": "query", "content_type": "passage"}, "input_type and content_type differ"),
        ({"input": "a", "encoding_format": "hex"}, "encoding_format can't be 'hex'"),
        ({"input": "a", "inputs": "b"}, "There is no parameter inputs"),
        ({"input": ["a"] * 1_025}, "1,025 texts are too many"),
        ({"input": "a" * 100_001}, "100,001 characters"),
        ({"input": ["a" * 99_999] * 16}, "1,599,984 characters together"),
        ({}, "input is missing"),
    ],
)
def test_errors_are_in_the_shape_that_clients_of_openai_show(client, body, said):
    reply = client.post("/v1/embeddings", json=body)
    assert reply.status_code == 400
    assert reply.headers["content-type"] == "application/problem+json"
    content = reply.json()
    assert said in content["detail"]
    assert content["error"] == {
        "message": content["detail"],
        "type": "invalid_request_error",
        "param": None,
        "code": None,
    }


@pytest.mark.parametrize("model", ["text-embedding-3-small", "../model"])
def test_another_model_is_refused(client, model, small_model):
    reply = client.post("/v1/embeddings", json={"input": "a", "model": model})
    assert reply.status_code == 404
    assert "but model" in reply.json()["error"]["message"]
    assert small_model not in reply.text


def test_an_unknown_format_is_refused(client):
    reply = client.post("/v1/encode", json={"texts": ["a"], "format": "zzz"})
    assert reply.status_code == 400
    assert "format can't be 'zzz'; choose one of prx, qry, clf, rgn" in reply.json()["detail"]


def test_documents_are_ranked_by_cosine(client, model):
    documents = ["virus lung", {"text": "A mouse\nand its heart."}, "galaxy star"]
    body = {"query": "virus lung", "documents": documents, "top_n": 3, "model": "model", "return_documents": True}
    reply = client.post("/v1/rerank", json=body)
    assert reply.status_code == 200
    texts = ["virus lung", model.card.text("A mouse", "and its heart."), "galaxy star"]
    query, papers = model.encode(["virus lung"], "qry")[0], model.encode(texts)
    cosines = papers @ query / np.linalg.norm(papers, axis=1) / np.linalg.norm(query)
    results = reply.json()["results"]
    assert [one["index"] for one in results] == np.argsort(-cosines, kind="stable").tolist()
    np.testing.assert_allclose([one["relevance_score"] for one in results], np.sort(cosines)[::-1], atol=1e-6)
    assert results[0]["document"] == {"text": "virus lung"}


def test_scores_are_printed_as_floats_and_all_documents_are_returned(client):
    reply = client.post("/v2/rerank", json={"query": "virus", "documents": ["virus"] * 30})
    assert len(reply.json()["results"]) == 30
    assert len(re.findall(r'"relevance_score":-?\d+\.\d+', reply.text)) == 30
    assert "document" not in reply.json()["results"][0]
    assert (
        len(client.post("/v1/rerank", json={"query": "a", "documents": ["b", "c"], "top_n": 1}).json()["results"]) == 1
    )


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"query": "a", "documents": []}, "There is no text to encode"),
        ({"query": " ", "documents": ["b"]}, "Text 0 is empty"),
        ({"query": "a", "documents": ["b"], "top_n": 0}, "top_n"),
        ({"query": "a", "documents": ["b"], "rank_fields": ["c"]}, "There is no parameter rank_fields"),
    ],
)
def test_a_wrong_rerank_is_a_problem(client, body, said):
    reply = client.post("/v1/rerank", json=body)
    assert reply.status_code == 400
    assert said in reply.json()["detail"]
    assert reply.json()["message"] == reply.json()["detail"]


def test_a_model_without_a_format_says_which_it_has():
    class Card:
        name, formats = "/models/specter", (encoding.Format.PRX,)

    class Schema:
        def maker(self, _):
            return self

    class Opened:
        name, index = "papers", SimpleNamespace(schema=Schema())

        class models:  # noqa: N801 - an attribute
            @staticmethod
            def of_leg(_):
                return type("Encoder", (), {"card": Card})

    class Service:
        library = ()

        def opened(self, _):
            return Opened()

    with pytest.raises(ses.InputError, match="The model specter has no clf vectors; choose one of prx"):
        encoding.choose(Service(), task_format="clf")
