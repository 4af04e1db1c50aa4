"""The words that an index holds, for corrections of a query's words, as searches of a cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from threading import Lock
from typing import Any, Generic, TypeVar

from search_plugin.engines.cluster.mapping import text_field
from search_plugin.schema import IndexSchema

MOST_REMEMBERED = 20_000
"""Words of an open index that are remembered; those of ordinary queries repeat."""

T = TypeVar("T")


class Remembered(Generic[T]):
    """What was found for words that were asked for, such as how many papers hold them; the newest, of a limited number.

    Only words that some paper holds are remembered: a word that none holds may come with the next paper. Correcting a
    query asks whether a word is held, so a count may be a little old; so may the long form of an acronym. Threads may
    share it.
    """

    def __init__(self, most: int = MOST_REMEMBERED) -> None:
        self._found: dict[str, T] = {}
        self._most = most
        self._lock = Lock()

    def known(self, words: Sequence[str]) -> dict[str, T]:
        """Return what was found for those words that are remembered."""
        with self._lock:
            return {word: self._found[word] for word in words if word in self._found}

    def add(self, found: Mapping[str, T]) -> None:
        """Remember the words for which something was found."""
        with self._lock:
            self._found.update({word: one for word, one in found.items() if one})
            for oldest in list(islice(self._found, max(0, len(self._found) - self._most))):
                del self._found[oldest]


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
