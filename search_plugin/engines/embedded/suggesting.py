"""The words that an index holds, for corrections of a query's words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from search_plugin.engines.embedded.queries import either

if TYPE_CHECKING:
    from search_plugin.engines.embedded.words import Words


def word_counts(searcher: Any, words: Words, asked: Sequence[str]) -> Mapping[str, int]:
    """Return how many papers hold all terms of each word, as of `Index.word_counts`."""
    terms = {word: words.analyze(words.prepare(word)) for word in asked}
    return {
        word: min((int(searcher.doc_freq("text", term)) for term in of_word), default=0)
        for word, of_word in terms.items()
    }


def resembling(words: Words, terms: Sequence[str], distance: int) -> Any:
    """Return the query for papers that hold similar terms."""
    from tantivy import Query

    return either([Query.fuzzy_term_query(words.schema, "text", term, distance) for term in terms])
