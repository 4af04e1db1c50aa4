"""Values of fields: how many papers have each, and which of them an expression matches."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from search_plugin.contract.engine import MOST_VALUES, too_many
from search_plugin.contract.legs import Facets
from search_plugin.contract.plan import LISTED
from search_plugin.engines.embedded.queries import among, both, either, matching, to_tantivy
from search_plugin.filters.matching import joined

if TYPE_CHECKING:
    from search_plugin.contract.plan import Counting
    from search_plugin.engines.embedded.words import Words


def count_facets(words: Words, searcher: Any, counting: Counting) -> Facets:
    """Return the counts of the papers of `Counting`, and which papers were counted."""
    from tantivy import Query

    plan = counting.plan
    query = among(words, counting.found)
    told = f"the {plan.window} nearest papers"
    if plan.order:
        query, told = (to_tantivy(plan.filter, words) if plan.filter else Query.all_query()), LISTED
    elif plan.words:
        matched = matching(words, searcher, plan)
        if plan.filter:
            matched = both(matched, to_tantivy(plan.filter, words))
        query = either([matched, query])
        told = "papers that hold a word of the query" + (f", and {told}" if plan.vectors else "")
    matches, counts = counted(searcher, query, column_paths(counting.fields), counting.size)
    return Facets(matches, told, {field: tuple(counts[field]) for field in counting.fields})


def column_paths(fields: Iterable[str]) -> dict[str, str]:
    """Return tantivy's names of fields."""
    return {field: field if field == "id" else f"fields.{field}" for field in fields}


def counted(
    searcher: Any, query: Any, fields: Mapping[str, str], size: int
) -> tuple[int, dict[str, list[tuple[Any, int]]]]:
    """Return how many papers a query finds, and the most frequent values of fields with their counts, ties by value.

    `fields` gives tantivy's names of the fields, `size` how many values of each to return.
    """
    # Often several values have the count of the last one: asking for more than are shown saves the second request.
    ask = dict.fromkeys(fields, 8 * size)
    found: dict[str, list[tuple[Any, int]]] = {}
    while True:
        wanted = {
            name: {"terms": {"field": fields[name], "size": most, "segment_size": 1 << 30}}
            for name, most in ask.items()
        }
        told = searcher.aggregate(query, {**wanted, "row": {"value_count": {"field": "row"}}})
        total = int(told["row"]["value"])
        for name, most in list(ask.items()):
            buckets = told[name]["buckets"]
            # tantivy does not define the order of values with equal counts: all ties must be fetched.
            if len(buckets) == most and buckets[-1]["doc_count"] == buckets[size - 1]["doc_count"]:
                ask[name] = most * 8
                continue
            del ask[name]
            pairs = [(_value(bucket), bucket["doc_count"]) for bucket in buckets if bucket["key"] != ""]
            found[name] = sorted(pairs, key=lambda pair: (-pair[1], pair[0]))[:size]
        if not ask:
            return total, found


def spelled(searcher: Any, fields: Mapping[str, str], patterns: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """Return the values that expressions match, as of `Index.spelled`; `fields` gives tantivy's names of the fields."""
    from tantivy import Query

    found: dict[str, list[str]] = {}
    for name, expressions in patterns.items():
        values: dict[str, None] = {}
        for expression in joined(expressions):
            terms = {"field": fields[name], "size": MOST_VALUES + 1, "segment_size": 1 << 30, "include": expression}
            buckets = searcher.aggregate(Query.all_query(), {"values": {"terms": terms}})["values"]["buckets"]
            values |= dict.fromkeys(bucket["key"] for bucket in buckets)
        if len(values) > MOST_VALUES:
            raise too_many(name)
        found[name] = list(values)
    return found


def _value(bucket: Mapping[str, Any]) -> Any:
    value = bucket.get("key_as_string", bucket["key"])
    return int(value) if isinstance(value, float) and value.is_integer() else value
