"""OpenSearch: vectors as `knn_vector` of the k-NN plugin, and legs that the server joins.

Lucene stores float and 8-bit vectors; for fewer bits the plugin uses faiss, which ranks its candidates again by the
float vectors. Every method is set explicitly, since the plugin's defaults differ between versions.

Legs are joined by one `hybrid` query, and a search pipeline that ses makes and owns. On one shard its scores equal
those of ses to 1e-5, with three exceptions. `minmax` lifts a leg's last hit to 0.001 (`search_plugin.fusion.fusions`),
`zscore` differs as it says there, and `rrf` ranks equal scores of a leg in the engine's own order,
where ses sorts by id. With several shards, each shard returns a whole window. The contribution of each leg is not
reported: the engine can return the raw scores only by running every leg again for every hit
(`include_named_queries_score`), and then includes those beyond the window. When ses joins the legs, it explains every
score.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, ClassVar

import orjson

from corpora.errors import UnavailableError
from corpora.lazy import np
from encoders.models.formats import Similarity
from search_plugin.contract.legs import Ranking
from search_plugin.contract.plan import Plan
from search_plugin.contract.schema import Quantization, VectorField
from search_plugin.engines.cluster import joining
from search_plugin.engines.cluster.dialect import GRAPH, LUCENE_BITS, Dialect, MappedVectors, QueryBody
from search_plugin.engines.cluster.errors import ClusterError
from search_plugin.engines.cluster.frontends.artifacts import mark_of
from search_plugin.engines.cluster.joining import Searched
from search_plugin.engines.cluster.product import Product
from search_plugin.engines.cluster.queries import columns
from search_plugin.fusion.fusions import RANK_CONSTANT

PLUGIN = "opensearch-knn"

_SPACES = {"cosine": "cosinesimil", "dot": "innerproduct", "l2": "l2"}
_MEANT: dict[str, Similarity] = {"cosinesimil": "cosine", "innerproduct": "dot", "l2": "l2"}
_FILTERS_PASSAGES_SINCE = (3, 5)
"""See the issue 2222 of the k-NN plugin."""

_ONLY_NEAREST_SINCE = (3, 0)

_COMPRESSED = {"int4": "8x", "1bit": "32x"}
_KEPT: dict[str, Quantization] = {"4x": "int8", "8x": "int4", "16x": "1bit", "32x": "1bit"}
"""Quantization by the level of compression of a field; 16x has 2 bits per number."""


class OpenSearchDialect(Dialect):
    """OpenSearch's vectors."""

    vector_type = "knn_vector"
    in_order: ClassVar[QueryBody] = {"mode": "ordered"}

    @property
    def filters_passages(self) -> bool:
        """Whether filters hold inside a search of passages; older versions apply most to the passages themselves."""
        return self.product.version >= _FILTERS_PASSAGES_SINCE

    @property
    def finds_candidates(self) -> bool:
        """Whether a graph search finds all its candidates, as of Lucene in older versions."""
        return self.product.version < _ONLY_NEAREST_SINCE

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
        mapping: dict[str, Any] = {"type": self.vector_type, "dimension": field.dimension}
        if quantization in _COMPRESSED:
            method = {"name": "hnsw", "engine": "faiss", "space_type": space, "parameters": dict(GRAPH)}
            return mapping | {"mode": "on_disk", "compression_level": _COMPRESSED[quantization], "method": method}
        parameters: dict[str, Any] = dict(GRAPH)
        if quantization == "int8":
            # Lucene's scalar quantizer offers only seven bits here; from 3.6 on the plugin requires the number.
            bits = {"bits": LUCENE_BITS} if self.product.version >= (3, 6) else {}
            parameters["encoder"] = {"name": "sq", "parameters": bits}
        return mapping | {"method": {"name": "hnsw", "engine": "lucene", "space_type": space, "parameters": parameters}}

    def read_vector(self, mapping: Mapping[str, Any], settings: Mapping[str, Any]) -> MappedVectors:
        """Return what the mapping of a field says; it raises `ValueError` as the class `Dialect` describes."""
        if mapping.get("type") != self.vector_type:
            raise ValueError(f"it is of the type {mapping.get('type', 'object')}, and not knn_vector")
        if "dimension" not in mapping:
            raise ValueError("its graph is of a trained model (model_id), and its mapping says no dimension")
        if (kind := mapping.get("data_type", "float")) not in ("float", "half_float"):
            raise ValueError(f"its vectors are of the data type {kind}, and models give floats")
        graph = str(settings.get("index.knn", "false")) == "true"
        method = mapping.get("method", {})
        space = method.get("space_type") or mapping.get("space_type") or settings.get("index.knn.space_type")
        # Without a graph, a script of any similarity can compare; with one, l2 is the default.
        if space is None and not graph:
            return MappedVectors(int(mapping["dimension"]), None, "none", graph=False)
        similarity = _MEANT.get(space or "l2")
        if similarity is None:
            raise ValueError(f"its vectors are compared by {space}, which ses does not know")
        return MappedVectors(int(mapping["dimension"]), similarity, _kept(mapping, method), graph)

    def nearest(self, field: str, vector: np.ndarray, k: int, candidates: int, where: QueryBody | None) -> QueryBody:
        """Return the HNSW query for the k nearest papers, among the papers that match a filter."""
        clause: dict[str, Any] = {"vector": vector, "k": k, "method_parameters": {"ef_search": candidates}}
        return {"knn": {field: clause | ({"filter": where} if where else {})}}

    def closeness_script(self, field: VectorField, vector: np.ndarray) -> dict[str, Any]:
        """Return the script that scores a document by its closeness to a vector, (dimension,)."""
        parameters = {"field": field.name, "query_value": vector, "space_type": _SPACES[field.similarity]}
        return {"lang": "knn", "source": "knn_score", "params": parameters}

    def sparse(self) -> dict[str, Any]:
        """Return the mapping of a field of sparse vectors."""
        return {"type": "rank_features"}

    def dot_product(self, field: str, weights: Mapping[str, float]) -> QueryBody:
        """Return the query for papers with one of some tokens, scored by the dot product of weights by token."""
        clauses = [
            {"rank_feature": {"field": f"{field}.{token}", "linear": {}, "boost": weight}}
            for token, weight in weights.items()
        ]
        return {"bool": {"should": clauses, "minimum_should_match": 1}}


HYBRID_PLUGIN = "opensearch-neural-search"

MAX_LEGS = 5
"""Maximum clauses of a hybrid query."""

MAX_HITS = 10_000
"""Maximum hits of a search by default (`index.max_result_window`)."""

_NORMALIZATIONS = {"minmax": "min_max", "zscore": "z_score"}
_RANK_WEIGHTS_SINCE = (3, 1)
_ZSCORE_SINCE = (3, 0)


def _kept(mapping: Mapping[str, Any], method: Mapping[str, Any]) -> Quantization:
    """Return how the vectors of a field are kept in memory; for encoders unknown here, by few bits, to be safe."""
    encoder = method.get("parameters", {}).get("encoder", {})
    level = mapping.get("compression_level") or ("32x" if mapping.get("mode") == "on_disk" else "1x")
    if encoder.get("name") == "sq":
        if method.get("engine") == "lucene":
            return "1bit" if encoder.get("parameters", {}).get("bits") == 1 else "int8"
        # The one of faiss keeps 16 bits, unless it says otherwise.
        return "1bit" if encoder.get("parameters", {}).get("bits") in (1, 2, 4) else "none"
    return "1bit" if encoder.get("name", "flat") != "flat" else _KEPT.get(level, "none")


def rank(index: Searched, plan: Plan, fusion: str, weights: Mapping[str, float]) -> Ranking:
    """Return the papers of the legs that OpenSearch runs and joins, without each leg's contribution.

    Raises `InputError` if this OpenSearch does not support the fusion, a name in `search_plugin.fusion.fusions`, and
    `UnavailableError` if the plugin for it is missing.
    """
    product = index.cluster.product
    pipeline = pipeline_for(product, fusion, joining.leg_shares(plan, weights))
    name = pipeline_name(index.name, fusion, pipeline)
    # The mark lets it be found and removed with what is installed for the index.
    marked = {"description": str(mark_of(index.name, index.schema)), **pipeline}
    return joining.read_ranking(_search(index, plan, name, marked), plan)


def pipeline_for(product: Product, fusion: str, weights: list[float]) -> dict[str, Any]:
    """Return the search pipeline that joins legs by weights, which sum to 1.

    Of the user's input only numbers get into it. Raises `InputError` if the product has no such fusion in its version,
    or joins fewer legs.
    """
    if len(weights) > MAX_LEGS:
        raise joining.refused(product, f"joins up to {MAX_LEGS} legs, and this search has {len(weights)}")
    weighing = {"parameters": {"weights": weights}}
    if fusion == "rrf":
        weighted = joining.is_weighted(weights)
        if weighted and product.version < _RANK_WEIGHTS_SINCE:
            raise joining.refused(product, "can't weigh the legs of rrf")
        combination = {"technique": "rrf", "rank_constant": RANK_CONSTANT, **(weighing if weighted else {})}
        return {"phase_results_processors": [{"score-ranker-processor": {"combination": combination}}]}
    if fusion not in _NORMALIZATIONS or (fusion == "zscore" and product.version < _ZSCORE_SINCE):
        raise joining.refused(product, f"has no fusion {fusion}")
    processor = {
        "normalization": {"technique": _NORMALIZATIONS[fusion]},
        "combination": {"technique": "arithmetic_mean", **weighing},
    }
    return {"phase_results_processors": [{"normalization-processor": processor}]}


def pipeline_name(index: str, fusion: str, pipeline: Mapping[str, Any]) -> str:
    """Return the name of the pipeline of an index, derived from its content: an existing one never needs to change."""
    return f"ses-{index}-join-{fusion}-{hashlib.blake2b(orjson.dumps(pipeline), digest_size=8).hexdigest()}"


def _search(index: Searched, plan: Plan, name: str, pipeline: Mapping[str, Any]) -> Mapping[str, Any]:
    """Search through a pipeline; make the pipeline if the cluster reports that it is missing."""
    queries = joining.leg_queries(index, plan)
    body = {
        "query": {"hybrid": {"queries": queries, "pagination_depth": plan.window}},
        "size": min(len(queries) * plan.window, MAX_HITS),
        **columns(plan),
    }

    def ask() -> Mapping[str, Any]:
        why = f"the legs {', '.join(plan.legs)}, joined by OpenSearch"
        reply: Mapping[str, Any] = index.ask_search(body, {"search_pipeline": name}, why=why)
        return reply

    try:
        return ask()
    except ClusterError as error:
        if "unknown query [hybrid]" in str(error):
            raise UnavailableError(
                f"This {index.cluster.product.name} lacks the plugin {HYBRID_PLUGIN}, which joins legs; install it on "
                "every node, or let ses join them."
            ) from error
        if error.status != 400 or name not in str(error):
            raise
        index.cluster.call("PUT", f"/_search/pipeline/{name}", pipeline)
        return ask()
