"""Rerankers of a service: those that its settings list, and no other that a client names."""

from __future__ import annotations

import re

import numpy as np
import pytest

import ses
from encoders.rerankers.registry import load_reranker
from tests.encoders.checkpoints import make_cross_encoder

pytestmark = pytest.mark.serve


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Two cross-encoders that are listed, and one that is not."""
    home = tmp_path_factory.mktemp("rerankers")
    return [str(make_cross_encoder(home / name, seed=seed)) for seed, name in enumerate(("first", "second", "hidden"))]


@pytest.fixture(scope="module")
def reranking(library, folders):
    from starlette.testclient import TestClient

    from ses.service.app import make_app
    from ses.service.service import Service
    from ses.service.settings import ServiceSettings

    settings = ServiceSettings(rerankers=tuple(folders[:2]))
    with TestClient(make_app(Service(ses.Library(library._settings), settings))) as opened:
        yield opened


@pytest.fixture(scope="module")
def scorers(library, folders):
    return [load_reranker(folder, cache_dir=library._settings.cache_dir) for folder in folders]


@pytest.mark.parametrize("named", ["name", "path"])
def test_a_search_ranks_again_by_a_listed_model(named, reranking, library, folders):
    name = "second" if named == "name" else folders[1]
    given = {"query": "virus lung", "size": 12, "rerank": name, "rerank_depth": 8}
    reply = reranking.get("/v1/search", params=given | {"index": "papers"})
    assert reply.status_code == 200, reply.text
    page = library["papers"].search("virus lung", size=12, rerank=folders[1], rerank_depth=8)
    found = reply.json()
    assert [(hit["paper"]["id"], hit["score"]) for hit in found["hits"]] == [(hit.id, hit.score) for hit in page]
    assert found["rerank"] == name
    explained = reranking.get("/v1/search", params=given | {"explain": True}).json()["hits"][0]["legs"]["rerank"]
    assert explained == {"rank": 1, "raw": page[0].score, "value": page[0].score}


def test_the_page_for_readers_says_what_the_reranker_gave(reranking):
    reply = reranking.get("/", params={"query": "virus lung", "rerank": "first"}, headers={"accept": "text/html"})
    assert reply.status_code == 200
    assert '<th scope="row">Reranker</th>' in reply.text


def test_all_results_are_read_with_it(reranking):
    given = {"query": "virus", "rerank": "first", "rerank_depth": 5, "size": 20, "cursor": "*"}
    first = reranking.get("/v1/search", params=given).json()
    given["cursor"] = first["next_cursor"]
    second = reranking.get("/v1/search", params=given).json()
    shown = [hit["paper"]["id"] for hit in (*first["hits"], *second["hits"])]
    assert len(set(shown)) == len(shown) > 20


@pytest.mark.parametrize("name", ["hidden", "path", "../hidden", "org/model", "magic"])
def test_what_is_not_listed_is_not_loaded(name, reranking, folders, monkeypatch):
    import ses.models.loaded_model

    monkeypatch.setattr(ses.models.loaded_model, "make_scorer", lambda *given: pytest.fail(f"{given} was loaded"))
    name = folders[2] if name == "path" else name
    reply = reranking.get("/v1/search", params={"query": "virus", "rerank": name})
    assert reply.status_code == 400
    said = reply.json()["detail"]
    assert "There is no reranker" in said
    assert "one of complete, first, second" in said
    assert folders[0] not in said
    wrong = reranking.post("/v1/rerank", json={"query": "a", "documents": ["b"], "model": name})
    assert wrong.status_code == 404
    assert "There is no model" in wrong.json()["message"]


def test_a_service_that_lists_none_has_complete_alone(client, folders):
    reply = client.get("/v1/search", params={"query": "virus", "rerank": folders[0]})
    assert reply.status_code == 400
    assert reply.json()["detail"].endswith("give rerank one of complete.")
    assert client.get("/v1/search", params={"query": "virus", "rerank": "complete"}).status_code == 200


@pytest.mark.parametrize(("model", "used"), [("", 0), ("first", 0), ("second", 1)])
def test_documents_are_ranked_by_the_model(model, used, reranking, scorers):
    documents = ["virus lung", {"text": "A mouse\nand its  heart."}, "galaxy star"]
    body = {"query": "virus lung", "documents": documents, "return_documents": True} | (
        {"model": model} if model else {}
    )
    reply = reranking.post("/v1/rerank", json=body)
    assert reply.status_code == 200, reply.text
    scores = scorers[used].scores("virus lung", ["virus lung", "A mouse and its heart.", "galaxy star"])
    results = reply.json()["results"]
    assert [one["index"] for one in results] == np.argsort(-scores, kind="stable").tolist()
    np.testing.assert_allclose([one["relevance_score"] for one in results], np.sort(scores)[::-1], atol=1e-6)
    assert results[[one["index"] for one in results].index(1)]["document"]["text"] == "A mouse\nand its  heart."
    assert len(re.findall(r'"relevance_score":-?\d+\.\d+', reply.text)) == 3


def test_the_indexs_model_still_ranks_by_cosine(reranking, client):
    body = {"query": "virus lung", "documents": ["virus", "cell protein"], "model": "model"}
    cosines = [one.post("/v1/rerank", json=body).json()["results"] for one in (reranking, client)]
    assert cosines[0] == cosines[1]
    for wrong in ({"query": "a", "documents": []}, {"query": " ", "documents": ["b"]}):
        assert reranking.post("/v1/rerank", json=wrong).status_code == 400


def test_pages_over_http_are_those_here(reranking, library, folders):
    reply = reranking.get("/v1/search", params={"query": "virus lung", "rerank": "first", "rerank_budget": "0.001"})
    assert reply.status_code == 200
    assert reply.json()["notes"][0].startswith("The reranker read 8 of 30 papers within 0.001 ms")
    bad = reranking.get("/v1/search", params={"query": "virus", "rerank": "first", "rerank_budget": "soon"})
    assert bad.status_code == 400
    assert "give milliseconds such as 200ms" in bad.json()["detail"]


def test_settings_list_them(monkeypatch):
    from ses.service.settings import load_service_settings

    assert load_service_settings().rerankers == ()
    monkeypatch.setenv("SES_SERVE_RERANKERS", "org/model, /models/ours")
    assert load_service_settings().rerankers == ("org/model", "/models/ours")
