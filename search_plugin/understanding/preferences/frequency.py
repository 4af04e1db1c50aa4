"""How often papers say words of a query: hardly ever, so they may be a name; or side by side, so they are a term."""

from __future__ import annotations

from collections.abc import Set

from search_plugin.contract.engine import Index
from search_plugin.contract.legs import NEWEST_FIRST
from search_plugin.contract.tree import Filter, Says
from search_plugin.understanding.meaning import Preference
from search_plugin.words.terms import TOKEN, term_of

RARE = 2
"""Papers that may say anything by chance."""

COMMON = 500
"""One of so many papers may hold a word that is taken for part of a name."""

TERM = 5_000
"""One of so many papers may say two words side by side by chance."""


def rare_words(index: Index, text: str) -> Set[str]:
    """Return the words of a text that hardly any paper says, as typed; a correction of the text asks for the same."""
    language = index.schema.language
    words = list(dict.fromkeys(token[0] for token in TOKEN.finditer(text) if term_of(token[0], language)))
    counts = index.document_frequencies(words) if words else {}
    limit = _at_most(index, COMMON)
    return {word for word, count in counts.items() if count <= limit}


def is_term(index: Index, *words: str) -> bool:
    """Return whether more papers than by chance say some words side by side: "disease 2019", "peer review"."""
    phrase = " ".join(words)
    by_chance = _at_most(index, TERM)
    return _remembered(index, f"side by side: {phrase.lower()}", Says("text", phrase), by_chance)


def has_papers(index: Index, preference: Preference) -> bool:
    """Return whether the index holds any paper of a preference; the answer is remembered."""
    return _remembered(index, f"papers {preference.description}", preference.filter, 0)


def _remembered(index: Index, key: str, where: Filter, more_than: int) -> bool:
    """Return whether more than a number of papers match a filter, as it was when the key was first asked for."""

    def look() -> str:
        return "yes" if index.listed(where, NEWEST_FIRST, 1).matches > more_than else "no"

    return index.cached(key, look) == "yes"


def _at_most(index: Index, one_of: int) -> int:
    return max(RARE, int(index.cached("papers of the index", lambda: str(index.count()))) // one_of)
