"""Elasticsearch's vectors: `dense_vector`, with an explicit index type, since the default has changed twice."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from corpora.errors import InputError
from search_plugin.contract.schema import VectorField
from search_plugin.engines.cluster.dialect import GRAPH, QueryBody
from search_plugin.engines.cluster.product import Product

if TYPE_CHECKING:
    import numpy as np

MAX_DIMENSION = 4096
MIN_DIMENSION_1BIT = 64

# Not `dot_product`, which refuses vectors that are not exactly of unit length.
_SIMILARITIES = {"cosine": "cosine", "dot": "max_inner_product", "l2": "l2_norm"}
_KINDS = {"none": "hnsw", "int8": "int8_hnsw", "int4": "int4_hnsw", "1bit": "bbq_hnsw"}

# The script holds the field's name, never the vector. `schema` restricts what a name can be.
_SCRIPTS = {
    "cosine": "(1.0 + cosineSimilarity(params.vector, '{field}')) / 2.0",
    "dot": "double dot = dotProduct(params.vector, '{field}'); return dot > 0 ? dot + 1 : 1 / (1 - dot);",
    "l2": "1.0 / (1.0 + Math.pow(l2norm(params.vector, '{field}'), 2))",
}


class ElasticsearchDialect:
    """See `Dialect`."""

    def __init__(self, product: Product) -> None:
        self.product = product
        self.filters_passages = True

    def check(self, plugins: frozenset[str]) -> None:
        """Check nothing: vectors are part of every Elasticsearch."""

    def settings(self) -> dict[str, Any]:
        """Return the index settings that vectors need."""
        return {}

    def vector(self, field: VectorField, quantization: str) -> dict[str, Any]:
        """Return the mapping of a vector field, or raise `InputError` if the product does not support it."""
        if field.dimension > MAX_DIMENSION:
            raise InputError(
                f"Elasticsearch holds vectors of up to {MAX_DIMENSION:,} numbers and the model gives "
                f"{field.dimension:,}",
                "choose another <model>",
            )
        if (quantization == "int4" and field.dimension % 2) or (
            quantization == "1bit" and field.dimension < MIN_DIMENSION_1BIT
        ):
            raise InputError(
                f"Elasticsearch can't keep vectors of {field.dimension} numbers in {quantization}",
                "choose <quantization=int8> or <quantization=none>",
            )
        return {
            "type": "dense_vector",
            "dims": field.dimension,
            "index": True,
            "similarity": _SIMILARITIES[field.similarity],
            "index_options": {"type": _KINDS[quantization], **GRAPH},
        }

    def nearest(self, field: str, vector: np.ndarray, k: int, candidates: int, where: QueryBody | None) -> QueryBody:
        """Return the HNSW query for the k nearest papers, among the papers that match a filter."""
        clause: dict[str, Any] = {"field": field, "query_vector": vector, "k": k, "num_candidates": candidates}
        return {"knn": clause | ({"filter": where} if where else {})}

    def similarity(self, field: VectorField, vector: np.ndarray, where: QueryBody | None) -> QueryBody:
        """Return the query that scores every paper that matches a filter by its exact similarity."""
        source = _SCRIPTS[field.similarity].format(field=field.name)
        return {
            "script_score": {
                "query": {"bool": {"filter": [{"exists": {"field": field.name}}, *([where] if where else [])]}},
                "script": {"source": source, "params": {"vector": vector}},
            }
        }
