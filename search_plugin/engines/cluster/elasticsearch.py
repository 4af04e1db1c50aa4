"""Elasticsearch: vectors as `dense_vector`, and legs that the server joins.

Vectors have an explicit index type, since the default has changed twice. Legs are joined by the retrievers `linear` and
`rrf` of the Enterprise licence. Only a request shows whether a cluster has them. If it does not, ses joins the legs,
and logs this once. If it does, three things differ from ses: no more papers come than one window holds, a leg whose
scores are all equal keeps them as they are (`linear`), and `rrf` ranks equal scores of a leg in the engine's own order.
Elasticsearch does not report the contribution of each leg.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from corpora.errors import InputError
from corpora.lazy import np
from encoders.models.formats import Similarity
from search_plugin.contract.legs import Ranking
from search_plugin.contract.plan import Plan
from search_plugin.contract.schema import Quantization, VectorField
from search_plugin.engines.cluster import joining
from search_plugin.engines.cluster.dialect import GRAPH, Dialect, MappedVectors, QueryBody
from search_plugin.engines.cluster.errors import ClusterError
from search_plugin.engines.cluster.joining import Searched
from search_plugin.engines.cluster.product import Product
from search_plugin.engines.cluster.queries import columns
from search_plugin.fusion.fusions import RANK_CONSTANT

MAX_DIMENSION = 4096
MIN_DIMENSION_1BIT = 64

_SPARSE_SINCE = (8, 15)
"""When the query over these fields came."""

# Not `dot_product`, which refuses vectors that are not exactly of unit length.
_SIMILARITIES = {"cosine": "cosine", "dot": "max_inner_product", "l2": "l2_norm"}
# Vectors of `dot_product` have length one, so it is the cosine, and has the same score.
_MEANT: dict[str, Similarity] = {
    "cosine": "cosine",
    "dot_product": "cosine",
    "max_inner_product": "dot",
    "l2_norm": "l2",
}
_KEPT: dict[str, Quantization] = {"int8": "int8", "int4": "int4", "bbq": "1bit"}
"""Quantization by the first part of the type of an index."""

_GRAPHS = {"none": "hnsw", "int8": "int8_hnsw", "int4": "int4_hnsw", "1bit": "bbq_hnsw"}

# The script holds the field's name, never the vector. `schema` restricts what a name can be.
_SCRIPTS = {
    "cosine": "(1.0 + cosineSimilarity(params.vector, '{field}')) / 2.0",
    "dot": "double dot = dotProduct(params.vector, '{field}'); return dot > 0 ? dot + 1 : 1 / (1 - dot);",
    "l2": "1.0 / (1.0 + Math.pow(l2norm(params.vector, '{field}'), 2))",
}


_HEURISTIC_SINCE = (9, 1)
"""The version from which on a filtered search compares only vectors that pass, unless a setting says otherwise."""


class ElasticsearchDialect(Dialect):
    """Elasticsearch's vectors, which need no plugin and no setting."""

    vector_type = "dense_vector"

    def preferred_settings(self) -> dict[str, Any]:
        """Return the setting by which a filtered search of a graph also passes papers that the filter rules out.

        Without it, such a search finds 8 of 10 where one paper of 20 passes (docs/benchmarks.md, A million papers in a
        cluster).
        """
        heuristic = {"dense_vector": {"hnsw_filter_heuristic": "fanout"}}
        return heuristic if self.product.version >= _HEURISTIC_SINCE else {}

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
            "type": self.vector_type,
            "dims": field.dimension,
            "index": True,
            "similarity": _SIMILARITIES[field.similarity],
            "index_options": {"type": _GRAPHS[quantization], **GRAPH},
        }

    def read_vector(self, mapping: Mapping[str, Any], settings: Mapping[str, Any]) -> MappedVectors:  # noqa: ARG002 - OpenSearch's needs them
        """Return what the mapping of a field says; it raises `ValueError` as the class `Dialect` describes."""
        if mapping.get("type") != self.vector_type:
            raise ValueError(f"it is of the type {mapping.get('type', 'object')}, and not dense_vector")
        if (element := mapping.get("element_type", "float")) not in ("float", "bfloat16"):
            raise ValueError(f"its vectors are of the element type {element}, and models give floats")
        if "dims" not in mapping:
            raise ValueError("its mapping has no dims yet, so no document has a vector in it")
        # Without an index, the mapping has no similarity, and a script of any similarity can compare.
        if mapping.get("index") is False:
            return MappedVectors(int(mapping["dims"]), None, "none", graph=False)
        similarity = _MEANT.get(mapping.get("similarity", "cosine"))
        if similarity is None:
            raise ValueError(f"its similarity is {mapping['similarity']}, which ses does not know")
        kept = _KEPT.get(mapping.get("index_options", {}).get("type", "").partition("_")[0], "none")
        return MappedVectors(int(mapping["dims"]), similarity, kept, graph=True)

    def nearest(self, field: str, vector: np.ndarray, k: int, candidates: int, where: QueryBody | None) -> QueryBody:
        """Return the HNSW query for the k nearest papers, among the papers that match a filter."""
        clause: dict[str, Any] = {"field": field, "query_vector": vector, "k": k, "num_candidates": candidates}
        return {"knn": clause | ({"filter": where} if where else {})}

    def closeness_script(self, field: VectorField, vector: np.ndarray) -> dict[str, Any]:
        """Return the script that scores a document by its closeness to a vector, (dimension,)."""
        source = _SCRIPTS[field.similarity].format(field=field.name)
        return {"source": source, "params": {"vector": vector}}

    def sparse(self) -> dict[str, Any]:
        """Return the mapping of a field of sparse vectors, or raise `InputError` if the product does not support it."""
        if self.product.version < _SPARSE_SINCE:
            since = ".".join(map(str, _SPARSE_SINCE))
            raise InputError(
                f"{self.product.name} has no sparse vectors that it searches, which came with {since}",
                "update it, or leave <sparse> out",
            )
        return {"type": "sparse_vector"}

    def dot_product(self, field: str, weights: Mapping[str, float]) -> QueryBody:
        """Return the query for papers with one of some tokens, scored by the dot product of weights by token."""
        # What the query `sparse_vector` is made of. That one is in a module for machine learning, and newer versions of
        # it leave frequent tokens out.
        clauses = [{"term": {field: {"value": token, "boost": weight}}} for token, weight in weights.items()]
        return {"bool": {"should": clauses, "minimum_should_match": 1}}


_RETRIEVERS = {"minmax": "linear", "rrf": "rrf"}
_RANK_WEIGHTS_SINCE = (9, 2)


def rank(index: Searched, plan: Plan, fusion: str, weights: Mapping[str, float]) -> Ranking | None:
    """Return the best papers of the legs that Elasticsearch runs and joins, without each leg's contribution.

    None if this cluster lacks the retriever. Raises `InputError` if no Elasticsearch of this version has this fusion, a
    name in `search_plugin.fusion.fusions`.
    """
    kind = _kind(index.cluster.product, fusion)
    retriever = _joined(index, plan, weights, kind)
    if kind in index.cluster.lacking:
        return None
    body = {"retriever": retriever, "size": plan.window, **columns(plan)}
    try:
        return joining.read_ranking(
            index.ask_search(body, why=f"the legs {', '.join(plan.legs)}, joined by {kind}"), plan
        )
    except ClusterError as error:
        if not _is_missing(error, kind):
            raise
        index.cluster.lacking.add(kind)
        why = "has a licence without" if error.status == 403 else "does not know"
        logging.getLogger("ses").warning(
            "%s %s the retriever %s, so ses joins the legs itself.", index.cluster.url, why, kind
        )
        return None


def _kind(product: Product, fusion: str) -> str:
    if fusion not in _RETRIEVERS:
        raise joining.refused(product, f"has no fusion {fusion}")
    return _RETRIEVERS[fusion]


def _joined(index: Searched, plan: Plan, weights: Mapping[str, float], kind: str) -> dict[str, Any]:
    """Return the retriever that joins the legs."""
    legs = _retrievers(index, plan)
    shares = joining.leg_shares(plan, weights)
    if kind == "linear":
        weighted = [
            {"retriever": leg, "weight": weight, "normalizer": "minmax"}
            for leg, weight in zip(legs, shares, strict=True)
        ]
        return {"linear": {"retrievers": weighted, "rank_window_size": plan.window}}
    if joining.is_weighted(shares):
        if index.cluster.product.version < _RANK_WEIGHTS_SINCE:
            raise joining.refused(index.cluster.product, "can't weigh the legs of rrf")
        legs = [{"retriever": leg, "weight": weight} for leg, weight in zip(legs, shares, strict=True)]
    return {"rrf": {"retrievers": legs, "rank_constant": RANK_CONSTANT, "rank_window_size": plan.window}}


def _retrievers(index: Searched, plan: Plan) -> list[dict[str, Any]]:
    # A graph search reads the same as a query and as a retriever.
    return [query if "knn" in query else {"standard": {"query": query}} for query in joining.leg_queries(index, plan)]


def _is_missing(error: ClusterError, kind: str) -> bool:
    """Return whether a search failed because the cluster lacks the retriever, or its licence does not include it."""
    if error.status == 403:
        return "license is non-compliant" in str(error)
    unread = error.type_name.endswith(("parsing_exception", "parse_exception"))
    return error.status == 400 and unread and f"[{kind}]" in str(error)
