"""The words that an index holds, for corrections of a query's words, as searches of a cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from threading import Lock
from typing import Any

from search_plugin.engines.cluster.mapping import text_field
from search_plugin.schema import IndexSchema

MOST_REMEMBERED = 20_000
"""Words of an open index whose counts are remembered; those of ordinary queries repeat."""


class Remembered:
    """How many papers hold a word, for words that were asked for; the newest, of a limited number.

    Only words that some paper holds are remembered: a word that none holds may come with the next paper. Correcting a
    query asks whether a word is held, so a count may be a little old. Threads may share it.
    """

    def __init__(self, most: int = MOST_REMEMBERED) -> None:
        self._counts: dict[str, int] = {}
        self._most = most
        self._lock = Lock()

    def known(self, words: Sequence[str]) -> dict[str, int]:
        """Return the counts of those words that are remembered."""
        with self._lock:
            return {word: self._counts[word] for word in words if word in self._counts}

    def add(self, counts: Mapping[str, int]) -> None:
        """Remember the words that some paper holds."""
        with self._lock:
            self._counts.update({word: count for word, count in counts.items() if count})
            for oldest in list(islice(self._counts, max(0, len(self._counts) - self._most))):
                del self._counts[oldest]


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
