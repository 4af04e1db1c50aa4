from __future__ import annotations

import numpy as np
import pytest

import eval.retrieval.exact
from corpora.errors import InputError
from encoders.models.formats import Format
from eval.embedder import Vectors
from eval.measures.similarity import PAIRWISE, SIMILARITIES
from eval.retrieval.exact import exact_rankings
from search_plugin.ranking.planning import make_plan
from search_plugin.request import SearchRequest
from tests.indexer.jobs import engine_in, make_job, run_job
from tests.tiny import papers, write_jsonl


def formula(one, other, similarity):
    match similarity:
        case "cosine":
            return one @ other / np.sqrt((one @ one) * (other @ other))
        case "dot":
            return one @ other
        case "l2":
            return -np.sqrt(((one - other) ** 2).sum())


@pytest.mark.parametrize("similarity", ["cosine", "dot", "l2"])
@pytest.mark.parametrize(("block", "depth"), [(8, 5), (1000, 5), (8, 50)])
def test_every_document_against_every_query_in_any_blocks(monkeypatch, similarity, block, depth):
    monkeypatch.setattr(eval.retrieval.exact, "BLOCK", block)
    monkeypatch.setattr(eval.retrieval.exact, "QUERIES", 2)
    draw = np.random.default_rng(0)
    # Few distinct vectors, so that ties straddle blocks and the cut.
    documents = draw.integers(1, 3, (40, 3)).astype(np.float32)
    queries = draw.integers(1, 3, (5, 3)).astype(np.float32)
    names = [f"d{number:02}" for number in draw.permutation(40)]
    found = dict(
        exact_rankings(
            Vectors({name: row for row, name in enumerate(names)}, documents),
            Vectors({f"q{row}": row for row in range(5)}, queries),
            similarity,
            depth,
        )
    )
    for row, ranking in enumerate(found.values()):
        scores = {name: formula(queries[row], documents[at], similarity) for at, name in enumerate(names)}
        expected = sorted(scores, key=lambda name: (-round(float(scores[name]), 5), name))[:depth]
        if similarity != "cosine":  # whose rounding parts ties; the others are exact on small whole numbers
            assert [hit.id for hit in ranking] == expected
        assert len({hit.id for hit in ranking}) == len(expected)
        assert [hit.score for hit in ranking] == pytest.approx([scores[hit.id] for hit in ranking], abs=1e-5)
        assert [hit.score for hit in ranking] == pytest.approx([scores[name] for name in expected], abs=1e-5)
    pairs = PAIRWISE[similarity](queries[:3], documents[:3])
    assert pairs == pytest.approx(np.diag(SIMILARITIES[similarity](queries[:3], documents[:3])), abs=1e-5)


def test_what_has_no_vector_is_not_ranked():
    vectors = Vectors({"a": 1}, np.eye(2, dtype=np.float32))
    assert [hit.id for hit in dict(exact_rankings(vectors, vectors, "dot", 9))["a"]] == ["a"]
    assert dict(exact_rankings(Vectors({}, np.empty((0, 2), np.float32)), vectors, "dot", 9)) == {"a": []}


def test_exact_is_the_engines_vector_mode(tmp_path):
    written = papers(60)
    job = make_job(tmp_path, write_jsonl(tmp_path / "papers.jsonl", written))
    run_job(tmp_path, job)
    index, encoder = engine_in(tmp_path).open("papers"), job.encoder()
    texts = {f"q{number}": paper.title for number, paper in enumerate(written[:10])}
    stored = index.vectors([paper.id for paper in written], "prx")
    documents = Vectors({id_: row for row, id_ in enumerate(stored)}, np.stack(list(stored.values())))
    asked = np.concatenate([encoder.encode([text], Format.QRY) for text in texts.values()])
    queries = Vectors({query: row for row, query in enumerate(texts)}, asked)
    found = dict(exact_rankings(documents, queries, encoder.card.similarity, 20))
    for query, text in texts.items():
        request = SearchRequest(text, "vector", window=20)
        theirs = {hit.id: hit.score for hit in index.search(make_plan(index, request, encoder))["prx"]}
        assert {hit.id: hit.score for hit in found[query]} == pytest.approx(theirs, abs=1e-5)


def test_ties_go_by_the_last_id_first_where_asked():
    vectors = Vectors({name: row for row, name in enumerate("bca")}, np.ones((3, 2), np.float32))
    query = Vectors({"q": 0}, np.ones((1, 2), np.float32))
    for descending, order in ((False, "abc"), (True, "cba")):
        ((_, hits),) = exact_rankings(vectors, query, "dot", 9, descending=descending)
        assert "".join(hit.id for hit in hits) == order


@pytest.mark.parametrize("similarity", ["dot", "cosine", "l2"])
def test_vectors_of_different_lengths_are_refused(similarity):
    query, documents = Vectors({"q": 0}, np.ones((1, 3), np.float32)), Vectors({"d": 0}, np.ones((1, 2), np.float32))
    with pytest.raises(InputError, match="queries have 3 values and those of papers 2"):
        next(exact_rankings(documents, query, similarity, 9))
