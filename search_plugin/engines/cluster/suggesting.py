"""The words that an index holds, for corrections of a query's words, as searches of a cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from search_plugin.contract.schema import IndexSchema
from search_plugin.engines.cluster.mapping import text_field


def word_counts_body(words: Sequence[str], schema: IndexSchema) -> dict[str, Any]:
    """Return the search that counts the papers with each word."""
    field = text_field(schema)
    held = {str(at): {"match": {field: {"query": word, "operator": "and"}}} for at, word in enumerate(words)}
    return {"size": 0, "track_total_hits": False, "aggs": {"words": {"filters": {"filters": held}}}}


def read_word_counts(reply: Mapping[str, Any], words: Sequence[str]) -> dict[str, int]:
    """Return the counts of the reply to `word_counts_body`."""
    buckets = reply["aggregations"]["words"]["buckets"]
    return {word: int(buckets[str(at)]["doc_count"]) for at, word in enumerate(words)}


def resembling_query(terms: Sequence[str], distance: int, schema: IndexSchema) -> dict[str, Any]:
    """Return the query for papers that hold similar terms."""
    field = text_field(schema)
    near = [{"fuzzy": {field: {"value": term, "fuzziness": distance, "prefix_length": 1}}} for term in terms]
    return {"bool": {"should": near}}
