"""OpenSearch's vectors: `knn_vector` of the k-NN plugin.

Lucene stores float and 8-bit vectors; for fewer bits the plugin uses faiss, which ranks its candidates again by the
float vectors. Every method is set explicitly, since the plugin's defaults differ between versions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from corpora.errors import UnavailableError
from search_plugin.contract.schema import VectorField
from search_plugin.engines.cluster.dialect import GRAPH, QueryBody
from search_plugin.engines.cluster.product import Product

if TYPE_CHECKING:
    import numpy as np

PLUGIN = "opensearch-knn"

_SPACES = {"cosine": "cosinesimil", "dot": "innerproduct", "l2": "l2"}
_FILTERS_PASSAGES_SINCE = (3, 5)
"""See the issue 2222 of the k-NN plugin."""

_COMPRESSED = {"int4": "8x", "1bit": "32x"}


class OpenSearchDialect:
    """See `Dialect`."""

    def __init__(self, product: Product) -> None:
        self.product = product
        # Earlier versions apply most filters to the passages themselves, which have none of the papers' fields.
        self.filters_passages = product.version >= _FILTERS_PASSAGES_SINCE

    def check(self, plugins: frozenset[str]) -> None:
        """Raise `UnavailableError` if the k-NN plugin is missing."""
        if PLUGIN not in plugins:
            raise UnavailableError(
                f"This {self.product.name} lacks the plugin {PLUGIN}, which holds vectors; run "
                f"`bin/opensearch-plugin install {PLUGIN}` on every node, or use a full distribution."
            )

    def settings(self) -> dict[str, Any]:
        """Return the index settings that vectors need."""
        return {"knn": True}

    def vector(self, field: VectorField, quantization: str) -> dict[str, Any]:
        """Return the mapping of a vector field."""
        space = _SPACES[field.similarity]
        mapping: dict[str, Any] = {"type": "knn_vector", "dimension": field.dimension}
        if quantization in _COMPRESSED:
            method = {"name": "hnsw", "engine": "faiss", "space_type": space, "parameters": dict(GRAPH)}
            return mapping | {"mode": "on_disk", "compression_level": _COMPRESSED[quantization], "method": method}
        parameters: dict[str, Any] = dict(GRAPH)
        if quantization == "int8":
            # Lucene's scalar quantizer offers only seven bits here; from 3.6 on the plugin requires the number.
            bits = {"bits": 7} if self.product.version >= (3, 6) else {}
            parameters["encoder"] = {"name": "sq", "parameters": bits}
        return mapping | {"method": {"name": "hnsw", "engine": "lucene", "space_type": space, "parameters": parameters}}

    def nearest(self, field: str, vector: np.ndarray, k: int, candidates: int, where: QueryBody | None) -> QueryBody:
        """Return the HNSW query for the k nearest papers, among the papers that match a filter."""
        clause: dict[str, Any] = {"vector": vector, "k": k, "method_parameters": {"ef_search": candidates}}
        return {"knn": {field: clause | ({"filter": where} if where else {})}}

    def similarity(self, field: VectorField, vector: np.ndarray, where: QueryBody | None) -> QueryBody:
        """Return the query that scores every paper that matches a filter by its exact similarity."""
        parameters = {"field": field.name, "query_value": vector, "space_type": _SPACES[field.similarity]}
        return {
            "script_score": {
                "query": {"bool": {"filter": [{"exists": {"field": field.name}}, *([where] if where else [])]}},
                "script": {"lang": "knn", "source": "knn_score", "params": parameters},
            }
        }
