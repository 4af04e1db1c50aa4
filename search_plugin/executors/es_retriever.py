"""Elasticsearch joins the legs itself, by the retrievers `linear` and `rrf` of its Enterprise licence.

Which cluster has them can only be learnt by asking for them. One that has not is searched as by the executor `client`,
and says so once in the log. Where they are, three things differ from ours: no more papers come than one window holds,
a leg whose scores are all equal keeps them as they are (`linear`), and `rrf` ranks equal scores of a leg in the
engine's own order. What each leg gave to a hit is not told.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

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
    from search_plugin.engines.base import Index
    from search_plugin.engines.cluster.index import ClusterIndex
    from search_plugin.engines.cluster.product import Product
    from search_plugin.plan import Plan
    from search_plugin.request import SearchRequest

NAME = "es-retriever"

_KINDS = {"minmax": "linear", "rrf": "rrf"}
_RANK_WEIGHTS_SINCE = (9, 2)


def execute(index: Index, plan: Plan, request: SearchRequest) -> Ranking:
    """Let Elasticsearch run the legs and join them; where it can't, and for a single leg, do as `client` does.

    Args:
        index: In Elasticsearch.
        plan: The legs.
        request: Gives fusion and weights.

    Returns:
        The best papers of the legs, without what each leg gave; or the ranking of the executor `client`.

    Raises:
        InputError: If the index is elsewhere, or no Elasticsearch of this version can join legs so.
    """
    own = index_of(index, "elasticsearch", NAME)
    if len(plan.legs) < 2:
        return client.execute(index, plan, request)
    kind = _kind(own.cluster.product, request.fusion)
    body = {"retriever": _joined(own, plan, request, kind), "size": plan.window, **ID_COLUMN}
    if kind not in own.cluster.lacking:
        try:
            return Ranking(read_fused(own.ask_search(body)), {}, NAME)
        except ClusterError as error:
            if not _is_missing(error, kind):
                raise
            own.cluster.lacking.add(kind)
            why = "has a licence without" if error.status == 403 else "does not know"
            logging.getLogger("ses").warning(
                "%s %s the retriever %s, so ses joins the legs itself.", own.cluster.url, why, kind
            )
    return client.execute(index, plan, request)


def _kind(product: Product, fusion: str) -> str:
    if fusion not in _KINDS:
        raise refused(NAME, f"{product.name} has no fusion {fusion}")
    return _KINDS[fusion]


def _joined(index: ClusterIndex, plan: Plan, request: SearchRequest, kind: str) -> dict[str, Any]:
    """Return the retriever that joins the legs."""
    legs = _retrievers(index, plan)
    weights = leg_shares(plan, request)
    if kind == "linear":
        weighted = [
            {"retriever": leg, "weight": weight, "normalizer": "minmax"}
            for leg, weight in zip(legs, weights, strict=True)
        ]
        return {"linear": {"retrievers": weighted, "rank_window_size": plan.window}}
    if is_weighted(weights):
        if index.cluster.product.version < _RANK_WEIGHTS_SINCE:
            raise refused(NAME, f"{index.cluster.product.name} can't weigh the legs of rrf")
        legs = [{"retriever": leg, "weight": weight} for leg, weight in zip(legs, weights, strict=True)]
    return {"rrf": {"retrievers": legs, "rank_constant": RANK_CONSTANT, "rank_window_size": plan.window}}


def _retrievers(index: ClusterIndex, plan: Plan) -> list[dict[str, Any]]:
    # A graph search reads the same as a query and as a retriever.
    return [query if "knn" in query else {"standard": {"query": query}} for query in leg_queries(index, plan)]


def _is_missing(error: ClusterError, kind: str) -> bool:
    """Return whether a search failed because the cluster has no such retriever, or not for its licence."""
    if error.status == 403:
        return "license is non-compliant" in str(error)
    unread = error.kind.endswith(("parsing_exception", "parse_exception"))
    return error.status == 400 and unread and f"[{kind}]" in str(error)
