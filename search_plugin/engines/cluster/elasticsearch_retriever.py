"""Elasticsearch joins the legs itself, by the retrievers `linear` and `rrf` of its Enterprise licence.

Only a request shows whether a cluster has them. If it does not, ses joins the legs, and logs this once. If it does,
three things differ from ses: no more papers come than one window holds, a leg whose scores are all equal keeps them as
they are (`linear`), and `rrf` ranks equal scores of a leg in the engine's own order. Elasticsearch does not report the
contribution of each leg.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

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
    from collections.abc import Mapping

    from search_plugin.contract.legs import Ranking
    from search_plugin.contract.plan import Plan
    from search_plugin.engines.cluster.joining import Searched
    from search_plugin.engines.cluster.product import Product

_KINDS = {"minmax": "linear", "rrf": "rrf"}
_RANK_WEIGHTS_SINCE = (9, 2)


def rank(index: Searched, plan: Plan, fusion: str, weights: Mapping[str, float]) -> Ranking | None:
    """Let Elasticsearch run the legs and join them.

    Args:
        index: In Elasticsearch.
        plan: The legs.
        fusion: A name in `search_plugin.fusion.fusions`.
        weights: Of the legs, by name.

    Returns:
        The best papers of the legs, without each leg's contribution; None if this cluster lacks the retriever.

    Raises:
        InputError: If no Elasticsearch of this version supports this fusion.
    """
    kind = _kind(index.cluster.product, fusion)
    retriever = _joined(index, plan, weights, kind)
    if kind in index.cluster.lacking:
        return None
    body = {"retriever": retriever, "size": plan.window, **columns(plan)}
    try:
        return read_ranking(index.ask_search(body, why=f"the legs {', '.join(plan.legs)}, joined by {kind}"), plan)
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
    if fusion not in _KINDS:
        raise refused(product, f"has no fusion {fusion}")
    return _KINDS[fusion]


def _joined(index: Searched, plan: Plan, weights: Mapping[str, float], kind: str) -> dict[str, Any]:
    """Return the retriever that joins the legs."""
    legs = _retrievers(index, plan)
    shares = leg_shares(plan, weights)
    if kind == "linear":
        weighted = [
            {"retriever": leg, "weight": weight, "normalizer": "minmax"}
            for leg, weight in zip(legs, shares, strict=True)
        ]
        return {"linear": {"retrievers": weighted, "rank_window_size": plan.window}}
    if is_weighted(shares):
        if index.cluster.product.version < _RANK_WEIGHTS_SINCE:
            raise refused(index.cluster.product, "can't weigh the legs of rrf")
        legs = [{"retriever": leg, "weight": weight} for leg, weight in zip(legs, shares, strict=True)]
    return {"rrf": {"retrievers": legs, "rank_constant": RANK_CONSTANT, "rank_window_size": plan.window}}


def _retrievers(index: Searched, plan: Plan) -> list[dict[str, Any]]:
    # A graph search reads the same as a query and as a retriever.
    return [query if "knn" in query else {"standard": {"query": query}} for query in leg_queries(index, plan)]


def _is_missing(error: ClusterError, kind: str) -> bool:
    """Return whether a search failed because the cluster lacks the retriever, or its licence does not include it."""
    if error.status == 403:
        return "license is non-compliant" in str(error)
    unread = error.type_name.endswith(("parsing_exception", "parse_exception"))
    return error.status == 400 and unread and f"[{kind}]" in str(error)
