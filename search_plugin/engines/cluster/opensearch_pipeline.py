"""OpenSearch joins the legs itself: one `hybrid` query, and a search pipeline that ses makes and owns.

On one shard its scores equal those of ses to 1e-5, with three exceptions. `minmax` lifts a leg's last hit to 0.001
(`search_plugin.fusion.minmax`), `zscore` differs as `search_plugin.fusion.zscore` says, and `rrf` ranks equal scores of
a leg in the engine's own order, where ses sorts by id. With several shards, each shard returns a whole window. The
contribution of each leg is not reported: the engine can return the raw scores only by running every leg again for every
hit (`include_named_queries_score`), and then includes those beyond the window. When ses joins the legs, it explains
every score.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import orjson

from corpora.errors import UnavailableError
from search_plugin.engines.cluster.errors import ClusterError
from search_plugin.engines.cluster.joining import (
    RANK_CONSTANT,
    is_weighted,
    leg_queries,
    leg_shares,
    read_ranking,
    refused,
)
from search_plugin.engines.cluster.queries import columns

if TYPE_CHECKING:
    from search_plugin.contract.legs import Ranking
    from search_plugin.contract.plan import Plan
    from search_plugin.engines.cluster.joining import Searched
    from search_plugin.engines.cluster.product import Product

PLUGIN = "opensearch-neural-search"

MAX_LEGS = 5
"""Maximum clauses of a hybrid query."""

MAX_HITS = 10_000
"""Maximum hits of a search by default (`index.max_result_window`)."""

_NORMALIZATIONS = {"minmax": "min_max", "zscore": "z_score"}
_RANK_WEIGHTS_SINCE = (3, 1)
_ZSCORE_SINCE = (3, 0)


def rank(index: Searched, plan: Plan, fusion: str, weights: Mapping[str, float]) -> Ranking:
    """Let OpenSearch run the legs and join them.

    Args:
        index: In OpenSearch.
        plan: The legs.
        fusion: A name in `search_plugin.fusion.fusions`.
        weights: Of the legs, by name.

    Returns:
        The papers that the legs brought, without each leg's contribution.

    Raises:
        InputError: If this OpenSearch does not support this fusion.
        UnavailableError: If the plugin for it is missing.
    """
    product = index.cluster.product
    if len(plan.legs) > MAX_LEGS:
        raise refused(product, f"joins up to {MAX_LEGS} legs, and this search has {len(plan.legs)}")
    pipeline = pipeline_for(product, fusion, leg_shares(plan, weights))
    return read_ranking(_search(index, plan, pipeline_name(fusion, pipeline), pipeline), plan)


def pipeline_for(product: Product, fusion: str, weights: list[float]) -> dict[str, Any]:
    """Return the search pipeline that joins legs; of the user's input only numbers get into it.

    Args:
        product: Its version decides which fusions it has.
        fusion: A name in `search_plugin.fusion.fusions`.
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
            raise refused(product, "can't weigh the legs of rrf")
        combination = {"technique": "rrf", "rank_constant": RANK_CONSTANT, **(weighing if weighted else {})}
        return {"phase_results_processors": [{"score-ranker-processor": {"combination": combination}}]}
    if fusion not in _NORMALIZATIONS or (fusion == "zscore" and product.version < _ZSCORE_SINCE):
        raise refused(product, f"has no fusion {fusion}")
    processor = {
        "normalization": {"technique": _NORMALIZATIONS[fusion]},
        "combination": {"technique": "arithmetic_mean", **weighing},
    }
    return {"phase_results_processors": [{"normalization-processor": processor}]}


def pipeline_name(fusion: str, pipeline: Mapping[str, Any]) -> str:
    """Return the name of a pipeline, derived from its content: an existing pipeline never needs to change."""
    return f"ses.{fusion}.{hashlib.blake2b(orjson.dumps(pipeline), digest_size=8).hexdigest()}"


def _search(index: Searched, plan: Plan, name: str, pipeline: Mapping[str, Any]) -> Mapping[str, Any]:
    """Search through a pipeline; make the pipeline if the cluster reports that it is missing."""
    queries = leg_queries(index, plan)
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
                f"This {index.cluster.product.name} lacks the plugin {PLUGIN}, which joins legs; install it on every "
                "node, or let ses join them."
            ) from error
        if error.status != 400 or name not in str(error):
            raise
        index.cluster.call("PUT", f"/_search/pipeline/{name}", pipeline)
        return ask()
