"""Counts by field over all matches, as an aggregation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from search_plugin.engines.cluster.mapping import TEXT
from search_plugin.engines.cluster.queries import condition
from search_plugin.page import Facets
from search_plugin.plan import Counting

_SPARE = 100
"""Values more than asked for that each shard names, so that a value that is second everywhere is not lost."""


def facets_body(counting: Counting) -> dict[str, Any]:
    """Return the search that counts the papers that match the plan's words, and those found, by fields."""
    plan, size = counting.plan, counting.size
    where = condition(plan.filter)
    matching: list[dict[str, Any]] = [{"terms": {"id": list(counting.found)}}]
    if plan.words:
        holds = {"match": {TEXT: {"query": plan.words}}}
        matching.append({"bool": {"must": [holds], "filter": [where]}} if where else holds)
    # One more than asked for, since an empty string in a list may be among them, which is no value to show.
    order = [{"_count": "desc"}, {"_key": "asc"}]
    counts = {
        name: {"terms": {"field": name, "size": size + 1, "shard_size": size + _SPARE, "order": order}}
        for name in counting.fields
    }
    return {
        "query": {"bool": {"filter": [{"bool": {"should": matching, "minimum_should_match": 1}}]}},
        "size": 0,
        "track_total_hits": True,
        "aggs": counts,
    }


def read_facets(reply: Mapping[str, Any], counting: Counting) -> Facets:
    """Return the counts that a cluster gave."""
    plan, size = counting.plan, counting.size

    def buckets(name: str) -> Sequence[Mapping[str, Any]]:
        found: Sequence[Mapping[str, Any]] = reply["aggregations"][name]["buckets"]
        return found

    counts = {
        # Of a flag the key is 1, and "true" stands beside it.
        name: tuple((b.get("key_as_string", b["key"]), b["doc_count"]) for b in buckets(name) if b["key"] != "")[:size]
        for name in counting.fields
    }
    nearest = f"the {plan.window} nearest papers"
    counted = nearest
    if plan.words:
        counted = "papers that hold a word of the query" + (f", and {nearest}" if plan.vectors else "")
    return Facets(int(reply["hits"]["total"]["value"]), counted, counts)
