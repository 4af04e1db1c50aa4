"""Vectors of papers and of passages as a cluster keeps and searches them."""

from __future__ import annotations

import numpy as np
import pytest

from corpora.errors import InputError
from search_plugin.contract.schema import ForeignField, VectorField, paper_vector, sparse_field
from search_plugin.engines.cluster import passages
from search_plugin.engines.cluster.dialects import dialect_of
from search_plugin.engines.cluster.product import Product

OPENSEARCH = dialect_of(Product("opensearch", "3.6.0", (3, 6)))
OLDER = dialect_of(Product("opensearch", "2.19.0", (2, 19)))
ELASTICSEARCH = dialect_of(Product("elasticsearch", "9.4.3", (9, 4)))
PAPER = paper_vector("prx", 2, "cosine")
PARTS = VectorField("vector_rgn", "rgn", 2, "cosine", "passage")
OWNERS = ForeignField(
    "body.chunks.vector", "theirs", 2, "cosine", "passage", model="m", fingerprint="f", nested="body.chunks"
)
SPARSE = sparse_field(100, "splade", "4567")
VECTOR = np.array([1, 0.5], np.float32)
WHERE = {"range": {"year": {"gt": 2000}}}
WEIGHTS = np.array([[3, 0.5], [20, 1.5]], np.float32)


@pytest.mark.parametrize("dialect", [OPENSEARCH, ELASTICSEARCH])
def test_passages_are_objects_with_a_vector(dialect):
    paper = passages.mapping_of(PAPER, dialect, "none")
    assert paper["type"] in ("knn_vector", "dense_vector")
    mapped = passages.mapping_of(PARTS, dialect, "none")
    assert mapped == {"type": "nested", "properties": {"vector": paper}}
    assert passages.mapping_of(SPARSE, dialect, "none") == dialect.sparse()


@pytest.mark.parametrize(
    ("field", "query"),
    [
        (PAPER, {"exists": {"field": "vector_prx"}}),
        (SPARSE, {"match_all": {}}),
        (
            PARTS,
            {
                "nested": {
                    "path": "vector_rgn",
                    "query": {"exists": {"field": "vector_rgn.vector"}},
                    "score_mode": "max",
                }
            },
        ),
        (
            OWNERS,
            {
                "nested": {
                    "path": "body.chunks",
                    "query": {"exists": {"field": "body.chunks.vector"}},
                    "score_mode": "max",
                }
            },
        ),
    ],
)
def test_papers_with_vectors(field, query):
    assert passages.has_vector(field) == query


@pytest.mark.parametrize("dialect", [OPENSEARCH, OLDER, ELASTICSEARCH])
@pytest.mark.parametrize("where", [None, WHERE])
def test_a_paper_is_as_near_as_its_nearest_passage(dialect, where):
    for field, path, vectors in ((PARTS, "vector_rgn", "vector_rgn.vector"), (OWNERS, "body.chunks", OWNERS.name)):
        graph = {"path": path, "query": dialect.nearest(vectors, VECTOR, 5, 50, where), "score_mode": "max"}
        exact = passages.scored_papers(dialect, field, VECTOR, where)
        found = passages.nearest_papers(dialect, field, VECTOR, 5, 50, where)
        # Older versions can't filter a search of passages.
        assert found == (exact if dialect is OLDER and where else {"nested": graph})
        inner = exact["bool"]["must"][0] if where else exact
        assert (inner["nested"]["path"], inner["nested"]["score_mode"]) == (path, "max")
        assert {"exists": {"field": vectors}} in inner["nested"]["query"]["script_score"]["query"]["bool"]["filter"]
        if where:
            assert exact["bool"].keys() == {"must", "filter"}
            assert exact["bool"]["filter"] == [where]
    assert passages.nearest_papers(dialect, PAPER, VECTOR, 5, 50, where) == dialect.nearest(
        "vector_prx", VECTOR, 5, 50, where
    )
    assert passages.scored_papers(dialect, PAPER, VECTOR, where) == dialect.similarity(PAPER, VECTOR, where)


def test_vectors_are_read_as_they_were_stored():
    rows = np.array([[1, 2], [3, 4]], np.float32)
    np.testing.assert_array_equal(passages.as_stored(PAPER, VECTOR), VECTOR)
    stored = passages.as_stored(PARTS, rows)
    assert [list(one) for one in stored] == [["vector"], ["vector"]]
    np.testing.assert_array_equal([one["vector"] for one in stored], rows)
    assert len(passages.as_stored(PARTS, VECTOR)) == 1
    for columns in ({"vector_rgn.vector": rows.tolist()}, {"vector_rgn": [{"vector": row} for row in rows.tolist()]}):
        np.testing.assert_array_equal(passages.read_vectors(PARTS, columns), rows)
    assert passages.read_vectors(PARTS, {}).shape == (0, 2)
    np.testing.assert_array_equal(passages.read_vectors(PAPER, {"vector_prx": [1, 0.5]}), VECTOR)
    assert passages.read_vectors(PAPER, {}) is None
    assert passages.as_stored(SPARSE, WEIGHTS) == {"3": 0.5, "20": 1.5}
    held = {"sparse": [{"20": 1.5, "3": 0.5}]}
    np.testing.assert_array_equal(passages.read_vectors(SPARSE, held), WEIGHTS)
    for nothing in ({}, {"sparse": []}):
        assert passages.read_vectors(SPARSE, nothing).shape == (0, 2)


@pytest.mark.parametrize(
    ("field", "shape"), [(PAPER, (3,)), (PAPER, (1, 2)), (PARTS, (2, 3)), (PARTS, (1, 1, 2)), (PARTS, (3,))]
)
def test_vectors_of_another_shape_are_refused(field, shape):
    with pytest.raises(InputError, match=rf"gives vectors of {shape[-1]} numbers and the index holds 2"):
        passages.as_stored(field, np.ones(shape, np.float32))


@pytest.mark.parametrize("dialect", [OPENSEARCH, ELASTICSEARCH])
def test_sparse_vectors_are_scored_by_their_tokens(dialect):
    query = dialect.dot_product("sparse", {"3": 0.5, "20": 1.5})
    assert passages.dot_products(dialect, SPARSE, WEIGHTS, None) == query
    assert passages.dot_products(dialect, SPARSE, WEIGHTS, WHERE) == {"bool": {"must": [query], "filter": [WHERE]}}
    assert passages.dot_products(dialect, SPARSE, WEIGHTS[:0], WHERE) == {"match_none": {}}
    weights = {"3": 0.5, "20": 1.5}
    clauses = {
        OPENSEARCH: [
            {"rank_feature": {"field": f"sparse.{token}", "linear": {}, "boost": by}} for token, by in weights.items()
        ],
        ELASTICSEARCH: [{"term": {"sparse": {"value": token, "boost": by}}} for token, by in weights.items()],
    }
    assert query == {"bool": {"should": clauses[dialect], "minimum_should_match": 1}}
