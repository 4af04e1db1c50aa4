"""A whole page as one request that a front end can send: no second request, and no joining of legs by the sender.

A page of ses takes two requests, between which ses joins the legs (docs/clusters.md). A front end that speaks only to
the cluster gets what the cluster itself can do: OpenSearch joins the legs by a search pipeline, Elasticsearch with the
basic licence adds up their scores, each with a boost.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from corpora.errors import InputError
from search_plugin.contract.legs import Sort
from search_plugin.contract.plan import Plan
from search_plugin.contract.tree import Filter
from search_plugin.engines.cluster import joining
from search_plugin.engines.cluster.dialect import TEXT
from search_plugin.engines.cluster.facets import counted, matching_query
from search_plugin.engines.cluster.frontends.http import HttpRequest
from search_plugin.engines.cluster.frontends.score_sums import summed_scores
from search_plugin.engines.cluster.index import ClusterIndex
from search_plugin.engines.cluster.opensearch import pipeline_for
from search_plugin.engines.cluster.queries import BEST_FIRST, counted_query, holding, listing_body
from search_plugin.request import SearchRequest

EVERY, MATCHES = "all", "matches"
"""The aggregations that hold the counts of a page with vectors: over all papers, and of those the ones that match."""

MARKING: dict[str, Any] = {
    # Texts may hold markup of their own, which a page would show as such.
    "encoder": "html",
    "require_field_match": False,
    "fields": {"title": {"number_of_fragments": 0}, "abstract": {}},
}
"""How words are marked, in the two texts of a paper."""


def page_request(index: ClusterIndex, plan: Plan, request: SearchRequest) -> HttpRequest:
    """Return the request for a page: its hits as documents, its highlights and its facets.

    The plan is what is searched or listed, and the request what is shown. What is returned goes to `_search`, with a
    body in the names of the index's own fields. Raises `InputError` if the product has no such fusion, a vector has
    another length than those of the index, or the vectors are not in the documents.
    """
    if plan.vectors and not index.holds_vectors:
        raise InputError(
            f"The vectors of {index.name} are not in its documents, so no single request searches both",
            "choose <mode=lexical>, or <join=ses>",
        )
    body: dict[str, Any] = {
        **(_listed(index, plan.filter, plan.order) if plan.order else _joined(index, plan, request)),
        "from": request.offset,
        "size": request.size,
        "_source": {"excludes": index.unshown},
        **_counts(index, plan, request),
    }
    if plan.words:
        body["highlight"] = MARKING
    params = {"allow_partial_search_results": "false"}
    if plan.words and not plan.vectors:
        # As in the legs of ses: a paper's score does not depend on its shard.
        params["search_type"] = "dfs_query_then_fetch"
    return HttpRequest("POST", f"/{index.address}/_search?{urlencode(params)}", index.translated(body), "the page")


def is_counted_apart(plan: Plan) -> bool:
    """Return whether the page of a plan has its counts in the aggregations of `MATCHES`."""
    return bool(plan.vectors)


def _counts(index: ClusterIndex, plan: Plan, request: SearchRequest) -> dict[str, Any]:
    """Return the part of the body that counts.

    What a search by vectors counts by itself is wrong. A `hybrid` query of OpenSearch 3 leaves out papers that no
    longer reach its best ones, graph searches of OpenSearch 2 find all their candidates, and those of few bits find
    spare papers. So a query of its own counts, over all papers, and the total of the hits is left out.
    """
    facets = {name: counted(index.schema.facet(name), request.facet_size) for name in request.facets}
    if not is_counted_apart(plan):
        return {"track_total_hits": True, **({"aggs": facets} if facets else {})}
    near = [counted_query(clause, plan, index.schema, index.dialect) for clause in plan.vectors]
    matches = {"filter": matching_query(plan, index.schema, index.dialect, near), "aggs": facets}
    return {"track_total_hits": False, "aggs": {EVERY: {"global": {}, "aggs": {MATCHES: matches}}}}


def highlights(index: ClusterIndex, plan: Plan) -> dict[str, Any]:
    """Return the option of a search for papers that marks the words of a plan in them; nothing without words."""
    if not plan.words:
        return {}
    marking = {"highlight": {**MARKING, "highlight_query": holding(plan, TEXT)}}
    return {"highlight": index.translated(marking)["highlight"]}


def _listed(index: ClusterIndex, where: Filter | None, order: Sort) -> dict[str, Any]:
    """Return the part of the body that lists the papers of a filter in an order."""
    body = listing_body(where, order, 0, index.schema, index.dialect)
    return {"query": body["query"], "sort": body["sort"]}


def _joined(index: ClusterIndex, plan: Plan, request: SearchRequest) -> dict[str, Any]:
    """Return the part of the body that finds and ranks."""
    legs = joining.leg_queries(index, plan)
    if len(legs) == 1:
        return {"query": legs[0], **BEST_FIRST}
    shares = joining.leg_shares(plan, request.weights)
    if index.cluster.product.kind == "opensearch":
        return {
            "query": {"hybrid": {"queries": legs, "pagination_depth": plan.window}},
            "search_pipeline": pipeline_for(index.cluster.product, request.fusion, shares),
        }
    return {"query": summed_scores(index.schema, plan, legs, shares)}
