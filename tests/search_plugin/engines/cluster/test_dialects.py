"""What each product's mappings say of vectors that others keep, and what only some versions have."""

from __future__ import annotations

import numpy as np
import pytest

from corpora.errors import InputError
from search_plugin.contract.schema import paper_vector
from search_plugin.engines.cluster.dialect import MappedVectors
from search_plugin.engines.cluster.dialects import dialect_of
from search_plugin.engines.cluster.product import Product


def opensearch(*version):
    return dialect_of(Product("opensearch", ".".join(map(str, version)), version))


def elasticsearch(*version):
    return dialect_of(Product("elasticsearch", ".".join(map(str, version)), version))


KNN = {"type": "knn_vector", "dimension": 3}
DENSE = {"type": "dense_vector", "dims": 3}
GRAPH = {"index.knn": "true"}


@pytest.mark.parametrize(
    ("mapping", "settings", "read"),
    [
        (KNN, GRAPH, MappedVectors(3, "l2", "none", graph=True)),
        (KNN, {"index.knn": True}, MappedVectors(3, None, "none", graph=False)),
        (KNN, {}, MappedVectors(3, None, "none", graph=False)),
        ({**KNN, "space_type": "innerproduct"}, {}, MappedVectors(3, "dot", "none", graph=False)),
        ({**KNN, "space_type": "innerproduct"}, GRAPH, MappedVectors(3, "dot", "none", graph=True)),
        (
            {**KNN, "space_type": "l2", "method": {"space_type": "cosinesimil"}},
            GRAPH,
            MappedVectors(3, "cosine", "none", graph=True),
        ),
        (KNN, {**GRAPH, "index.knn.space_type": "innerproduct"}, MappedVectors(3, "dot", "none", graph=True)),
        ({**KNN, "data_type": "half_float"}, GRAPH, MappedVectors(3, "l2", "none", graph=True)),
        *(
            ({**KNN, "compression_level": level}, GRAPH, MappedVectors(3, "l2", kept, graph=True))
            for level, kept in (("4x", "int8"), ("8x", "int4"), ("16x", "1bit"), ("32x", "1bit"))
        ),
    ],
)
def test_what_a_mapping_of_opensearch_says(mapping, settings, read):
    if settings.get("index.knn") is True:  # settings are texts
        settings = {"index.knn": "false"}
    assert opensearch(3, 6).read_vector(mapping, settings) == read


@pytest.mark.parametrize(
    ("mapping", "read"),
    [
        (DENSE, MappedVectors(3, "cosine", "none", graph=True)),
        ({**DENSE, "element_type": "bfloat16"}, MappedVectors(3, "cosine", "none", graph=True)),
        ({**DENSE, "index": False}, MappedVectors(3, None, "none", graph=False)),
        ({**DENSE, "index": True, "similarity": "dot_product"}, MappedVectors(3, "cosine", "none", graph=True)),
        ({**DENSE, "similarity": "max_inner_product"}, MappedVectors(3, "dot", "none", graph=True)),
        ({**DENSE, "similarity": "l2_norm"}, MappedVectors(3, "l2", "none", graph=True)),
    ],
)
def test_what_a_mapping_of_elasticsearch_says(mapping, read):
    assert elasticsearch(9, 4).read_vector(mapping, {}) == read


@pytest.mark.parametrize(
    ("dialect", "mapping", "why"),
    [
        (opensearch(3, 6), {}, "it is of the type object, and not knn_vector"),
        (opensearch(3, 6), {"type": "text"}, "it is of the type text, and not knn_vector"),
        (opensearch(3, 6), {"type": "knn_vector", "model_id": "m"}, r"its graph is of a trained model \(model_id\)"),
        (opensearch(3, 6), {**KNN, "data_type": "byte"}, "its vectors are of the data type byte, and models give"),
        (opensearch(3, 6), {**KNN, "space_type": "l1"}, "its vectors are compared by l1, which ses does not know"),
        (elasticsearch(9, 4), {}, "it is of the type object, and not dense_vector"),
        (elasticsearch(9, 4), {"type": "text"}, "it is of the type text, and not dense_vector"),
        (elasticsearch(9, 4), {**DENSE, "element_type": "byte"}, "its vectors are of the element type byte, and"),
        (elasticsearch(9, 4), {"type": "dense_vector"}, "its mapping has no dims yet"),
        (elasticsearch(9, 4), {**DENSE, "similarity": "l1"}, "its similarity is l1, which ses does not know"),
    ],
)
def test_vectors_that_can_not_be_searched_are_told(dialect, mapping, why):
    with pytest.raises(ValueError, match=f"^{why}"):
        dialect.read_vector(mapping, GRAPH)


@pytest.mark.parametrize(
    ("dialect", "filters", "candidates", "preferred"),
    [
        (opensearch(2, 19), False, True, False),
        (opensearch(3, 0), False, False, False),
        (opensearch(3, 4), False, False, False),
        (opensearch(3, 5), True, False, False),
        (elasticsearch(9, 0), True, False, False),
        (elasticsearch(9, 1), True, False, True),
    ],
)
def test_what_only_some_versions_do(dialect, filters, candidates, preferred):
    assert (dialect.filters_passages, dialect.finds_candidates) == (filters, candidates)
    heuristic = {"dense_vector": {"hnsw_filter_heuristic": "fanout"}}
    assert dialect.preferred_settings() == (heuristic if preferred else {})


def test_sparse_vectors_came_with_a_version():
    assert elasticsearch(8, 15).sparse() == {"type": "sparse_vector"}
    assert opensearch(2, 19).sparse() == {"type": "rank_features"}
    with pytest.raises(InputError, match=r"^Elasticsearch 8\.14 has no sparse vectors that .*, which came with 8\.15"):
        elasticsearch(8, 14).sparse()


@pytest.mark.parametrize(
    ("similarity", "space", "source"),
    [
        ("cosine", "cosinesimil", "(1.0 + cosineSimilarity(params.vector, 'vector_prx')) / 2.0"),
        (
            "dot",
            "innerproduct",
            "double dot = dotProduct(params.vector, 'vector_prx'); return dot > 0 ? dot + 1 : 1 / (1 - dot);",
        ),
        ("l2", "l2", "1.0 / (1.0 + Math.pow(l2norm(params.vector, 'vector_prx'), 2))"),
    ],
)
def test_scripts_score_as_graphs_do(similarity, space, source):
    field, vector = paper_vector("prx", 2, similarity), np.ones(2, np.float32)
    parameters = {"field": "vector_prx", "query_value": vector, "space_type": space}
    assert opensearch(3, 6).closeness_script(field, vector) == {
        "lang": "knn",
        "source": "knn_score",
        "params": parameters,
    }
    assert elasticsearch(9, 4).closeness_script(field, vector) == {"source": source, "params": {"vector": vector}}
