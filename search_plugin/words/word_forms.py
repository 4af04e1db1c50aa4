"""The words that texts held so far, by their terms: most words of a text were in others before it."""

from __future__ import annotations

from collections.abc import Iterator, Set
from functools import lru_cache

from search_plugin.words.terms import LONGEST_WORD, term_of

MOST_WORDS = 1 << 15
"""Words of a language that are remembered; if there are more, all are forgotten."""


class WordForms:
    """The words of one language, by their terms. Threads may share it.

    Args:
        language: A name in `search_plugin.words.languages`.
    """

    def __init__(self, language: str) -> None:
        self._language = language
        self._known: tuple[set[str], dict[str, set[str]]] = set(), {}

    @property
    def known(self) -> Set[str]:
        """The words that are remembered."""
        return self._known[0]

    def spelling(self, terms: Set[str], words: set[str]) -> Iterator[tuple[str, str]]:
        """Yield those of some words that have one of some terms, each with its term."""
        if len(self.known) > MOST_WORDS:
            self._known = set(), {}
        known, by_term = self._known
        for word in words - known:
            term = term_of(word, self._language)
            if len(word) <= LONGEST_WORD:
                by_term.setdefault(term, set()).add(word)
                known.add(word)  # last: other threads take what is known as complete
            elif term in terms:
                yield word, term
        for term in terms:
            for word in words.intersection(by_term.get(term, ())):
                yield word, term


@lru_cache
def word_forms(language: str) -> WordForms:
    """Return the words of a language, the same for all searches."""
    return WordForms(language)
