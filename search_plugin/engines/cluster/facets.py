"""Counts by field over all matches, as an aggregation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from search_plugin.contract.engine import MOST_VALUES, too_many
from search_plugin.contract.legs import Facets
from search_plugin.contract.plan import Counting, Plan, counted_papers
from search_plugin.contract.schema import Field, IndexSchema
from search_plugin.engines.cluster.dialect import TEXT, Dialect, QueryBody
from search_plugin.engines.cluster.queries import condition, holding

_SPARE = 100
"""Extra values requested from each shard, so that a value that is second on every shard is not lost."""


def facets_body(counting: Counting, schema: IndexSchema, dialect: Dialect) -> dict[str, Any]:
    """Return the search that counts by fields the papers of `Counting`."""
    plan = counting.plan
    found: QueryBody = {"terms": {"id": list(counting.found)}}
    listed = condition(plan.filter, schema, dialect) or {"match_all": {}}
    matching = listed if plan.order else matching_query(plan, schema, dialect, [found])
    counts = {name: counted(schema.field(name), counting.size, counting.include) for name in counting.fields}
    return {"query": {"bool": {"filter": [matching]}}, "size": 0, "track_total_hits": True, "aggs": counts}


def matching_query(plan: Plan, schema: IndexSchema, dialect: Dialect, found: Sequence[QueryBody]) -> QueryBody:
    """Return the query for the papers that a page counts: those that queries find, or that hold a word of the plan."""
    matching = [*found]
    if plan.words:
        holds, where = holding(plan, TEXT), condition(plan.filter, schema, dialect)
        matching.append({"bool": {"must": [holds], "filter": [where]}} if where else holds)
    return {"bool": {"should": matching, "minimum_should_match": 1}}


def value_counts_body(field: Field, size: int) -> dict[str, Any]:
    """Return the search that counts the values of a field over all papers."""
    return {"size": 0, "aggs": {field.name: counted(field, size)}}


def read_value_counts(reply: Mapping[str, Any], field: Field, size: int) -> list[tuple[str | int | float, int]]:
    """Return the counts of the reply to `value_counts_body`."""
    found = reply["aggregations"][field.name]["buckets"]
    return [(_value(field, bucket), bucket["doc_count"]) for bucket in found if bucket["key"] != ""][:size]


def counted(field: Field, size: int, include: Sequence[str] = ()) -> dict[str, Any]:
    """Return the aggregation that counts the most frequent values of a field."""
    order = [{"_count": "desc"}, {"_key": "asc"}]
    if field.kind == "date":
        years = {"field": field.name, "calendar_interval": "year", "format": "yyyy", "min_doc_count": 1}
        return {"date_histogram": {**years, "order": order}}
    # One extra, since an empty string from a list may be among them, and is not shown.
    terms = {"field": field.name, "size": size + 1, "shard_size": size + _SPARE, "order": order}
    return {"terms": {**terms, **({"include": list(include)} if include else {})}}


def read_facets(reply: Mapping[str, Any], counting: Counting, schema: IndexSchema) -> Facets:
    """Return the counts that a cluster gave."""
    size = counting.size

    def buckets(name: str) -> Sequence[Mapping[str, Any]]:
        found: Sequence[Mapping[str, Any]] = reply["aggregations"][name]["buckets"]
        return found

    counts = {
        name: tuple((_value(schema.field(name), b), b["doc_count"]) for b in buckets(name) if b["key"] != "")[:size]
        for name in counting.fields
    }
    return Facets(int(reply["hits"]["total"]["value"]), counted_papers(counting.plan), counts)


def _value(field: Field, bucket: Mapping[str, Any]) -> str | int | float:
    key: str | int | float = bucket["key"]
    if field.kind == "boolean":
        # The key is 1; "true" is in another field.
        return str(bucket["key_as_string"])
    if field.kind == "date":
        return int(bucket["key_as_string"])
    return int(key) if isinstance(key, float) and key.is_integer() else key


def matching_values_body(expressions: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """Return the search that lists the values of fields that regular expressions match, a pair at a time."""
    terms = (
        {"terms": {"field": field, "include": expression, "size": MOST_VALUES + 1}} for field, expression in expressions
    )
    return {"size": 0, "track_total_hits": False, "aggs": {str(place): one for place, one in enumerate(terms)}}


def read_matching_values(reply: Mapping[str, Any], expressions: Sequence[tuple[str, str]]) -> dict[str, list[str]]:
    """Return the values by field that a cluster listed; raises `InputError` if there are too many."""
    found: dict[str, dict[str, None]] = {field: {} for field, _ in expressions}
    for place, (field, _) in enumerate(expressions):
        found[field] |= dict.fromkeys(bucket["key"] for bucket in reply["aggregations"][str(place)]["buckets"])
    if field := next((field for field, values in found.items() if len(values) > MOST_VALUES), ""):
        raise too_many(field)
    return {field: list(values) for field, values in found.items()}
