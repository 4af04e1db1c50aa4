"""OpenSearch joins the legs itself: one `hybrid` query, and a search pipeline that ses makes and owns.

On one shard its rankings are ours to 1e-5, but for three points. `minmax` lifts a leg's last hit to 0.001
(`search_plugin.fusion.minmax`), `zscore` differs as `search_plugin.fusion.zscore` says, and `rrf` ranks equal scores
of a leg in the engine's own order, where we go by id. Of several shards each brings a whole window.

What each leg gave to a hit is not told: the engine can name the raw scores only by running every leg again for every
hit (`include_named_queries_score`), and then names also those beyond the window. The executor `client` explains.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import orjson

from corpora.errors import UnavailableError
from search_plugin.engines.cluster.errors import ClusterError
from search_plugin.engines.cluster.queries import ID_COLUMN
from search_plugin.executors import client
from search_plugin.executors.registry import Ranking
from search_plugin.executors.server import (
    RANK_CONSTANT,
    index_of,
    is_weighted,
    leg_queries,
    leg_shares,
    read_fused,
    refused,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from search_plugin.engines.base import Index
    from search_plugin.engines.cluster.index import ClusterIndex
    from search_plugin.engines.cluster.product import Product
    from search_plugin.plan import Plan
    from search_plugin.request import SearchRequest

NAME = "opensearch-pipeline"
PLUGIN = "opensearch-neural-search"

MAX_LEGS = 5
"""Clauses that a hybrid query takes."""

MAX_HITS = 10_000
"""Hits that a search takes by default (`index.max_result_window`)."""

_NORMALIZATIONS = {"minmax": "min_max", "zscore": "z_score"}
_RANK_WEIGHTS_SINCE = (3, 1)
_ZSCORE_SINCE = (3, 0)


def execute(index: Index, plan: Plan, request: SearchRequest) -> Ranking:
    """Let OpenSearch run the legs and join them; a single leg is left to the executor `client`.

    Args:
        index: In OpenSearch.
        plan: The legs.
        request: Gives fusion and weights.

    Returns:
        The papers that the legs brought, without what each leg gave.

    Raises:
        InputError: If the index is elsewhere, or this OpenSearch can't join legs so.
        UnavailableError: If the plugin for it is missing.
    """
    own = index_of(index, "opensearch", NAME)
    if len(plan.legs) < 2:
        return client.execute(index, plan, request)
    if len(plan.legs) > MAX_LEGS:
        raise refused(NAME, f"OpenSearch joins up to {MAX_LEGS} legs, and this search has {len(plan.legs)}")
    pipeline = pipeline_for(own.cluster.product, request.fusion, leg_shares(plan, request))
    reply = _search(own, _body(own, plan), pipeline_name(request.fusion, pipeline), pipeline)
    return Ranking(read_fused(reply), {}, NAME)


def pipeline_for(product: Product, fusion: str, weights: list[float]) -> dict[str, Any]:
    """Return the search pipeline that joins legs; of what users give, numbers alone get into it.

    Args:
        product: Whose version decides what there is.
        fusion: A name in `search_plugin.fusion.registry`.
        weights: Of the legs, in their order; they sum to 1.

    Returns:
        Its body.

    Raises:
        InputError: If this version has no such fusion.
    """
    weighing = {"parameters": {"weights": weights}}
    if fusion == "rrf":
        weighted = is_weighted(weights)
        if weighted and product.version < _RANK_WEIGHTS_SINCE:
            raise refused(NAME, f"{product.name} can't weigh the legs of rrf")
        combination = {"technique": "rrf", "rank_constant": RANK_CONSTANT, **(weighing if weighted else {})}
        return {"phase_results_processors": [{"score-ranker-processor": {"combination": combination}}]}
    if fusion not in _NORMALIZATIONS or (fusion == "zscore" and product.version < _ZSCORE_SINCE):
        raise refused(NAME, f"{product.name} has no fusion {fusion}")
    processor = {
        "normalization": {"technique": _NORMALIZATIONS[fusion]},
        "combination": {"technique": "arithmetic_mean", **weighing},
    }
    return {"phase_results_processors": [{"normalization-processor": processor}]}


def pipeline_name(fusion: str, pipeline: Mapping[str, Any]) -> str:
    """Return the name of a pipeline, made of what is in it: so one that is there never needs to change."""
    return f"ses.{fusion}.{hashlib.blake2b(orjson.dumps(pipeline), digest_size=8).hexdigest()}"


def _body(index: ClusterIndex, plan: Plan) -> dict[str, Any]:
    queries = leg_queries(index, plan)
    return {
        "query": {"hybrid": {"queries": queries, "pagination_depth": plan.window}},
        "size": min(len(queries) * plan.window, MAX_HITS),
        **ID_COLUMN,
    }


def _search(index: ClusterIndex, body: Mapping[str, Any], name: str, pipeline: Mapping[str, Any]) -> Mapping[str, Any]:
    """Search through a pipeline, which is made where the cluster says that it is not there."""
    through = {"search_pipeline": name}
    try:
        reply: Mapping[str, Any] = index.ask_search(body, through)
    except ClusterError as error:
        if "unknown query [hybrid]" in str(error):
            raise UnavailableError(
                f"This {index.cluster.product.name} lacks the plugin {PLUGIN}, which joins legs; install it on every "
                "node, or use --executor client."
            ) from error
        if error.status != 400 or name not in str(error):
            raise
        index.cluster.call("PUT", f"/_search/pipeline/{name}", pipeline)
        reply = index.ask_search(body, through)
    return reply
