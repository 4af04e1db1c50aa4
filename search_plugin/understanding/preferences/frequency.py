"""How often papers say words of a query: hardly ever, so they may be a name; or side by side, so they are a term."""

from __future__ import annotations

from collections.abc import Set
from typing import TYPE_CHECKING

from search_plugin.contract.ordering import NEWEST_FIRST
from search_plugin.contract.tree import Says
from search_plugin.words.terms import TOKEN, term_of

if TYPE_CHECKING:
    from search_plugin.contract.engine import Index
    from search_plugin.understanding.known import Preference

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
    counts = index.word_counts(words) if words else {}
    limit = _at_most(index, COMMON)
    return {word for word, count in counts.items() if count <= limit}


def is_term(index: Index, *words: str) -> bool:
    """Return whether more papers than by chance say some words side by side: "disease 2019", "peer review"."""
    phrase = " ".join(words)

    def look() -> str:
        papers = index.listed(Says("text", phrase), NEWEST_FIRST, 1).matches
        return "yes" if papers > _at_most(index, TERM) else "no"

    return index.remembered(f"side by side: {phrase.lower()}", look) == "yes"


def has_papers(index: Index, preference: Preference) -> bool:
    """Return whether the index holds any paper of a preference; the answer is remembered."""

    def look() -> str:
        return "yes" if index.listed(preference.filter, NEWEST_FIRST, 1).matches else "no"

    return index.remembered(f"papers {preference.told}", look) == "yes"


def _at_most(index: Index, one_of: int) -> int:
    return max(RARE, int(index.remembered("papers of the index", lambda: str(index.count()))) // one_of)
