"""Where the terms of a query stand in a paper, and which share of the query's words it holds."""

from __future__ import annotations

import re
from functools import lru_cache
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

from search_plugin.words.languages import DEFAULT_LANGUAGE
from search_plugin.words.terms import MARKS, SPACED, TOKEN, UNSPACED, term_of, terms_of
from search_plugin.words.word_forms import word_forms

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence, Set

    from search_plugin.contract.plan import Notion

_BEYOND_WORDS = re.compile(f"[{UNSPACED}{MARKS}]")
"""If a text contains this, its words are more than runs of letters and digits."""
_BETWEEN_WORDS = re.compile(r"[\W_]")


class Occurrence(NamedTuple):
    """A term in a text, from `start` to `end`."""

    term: str
    start: int
    end: int


class HeldTerms(NamedTuple):
    """Where the terms of a query stand in a paper, each in the order of the text."""

    title: Sequence[Occurrence]
    abstract: Sequence[Occurrence]

    @property
    def terms(self) -> frozenset[str]:
        """The terms that the paper holds."""
        return frozenset(one.term for part in self for one in part)


@lru_cache(maxsize=256)  # a page asks for each of its papers
def query_terms(query: str, language: str = DEFAULT_LANGUAGE) -> frozenset[str]:
    """Return the different terms of a query, without stop words."""
    return frozenset(terms_of(query, language)) - {""}


def find(query: str, title: str, abstract: str, language: str = DEFAULT_LANGUAGE) -> HeldTerms:
    """Find a query's words in a paper.

    Words are compared by their stem in the index's language, without case and accents; in scripts without spaces, by
    pairs of characters. Stop words don't count.

    Args:
        query: What the user searched for.
        title: The paper's title.
        abstract: The paper's abstract.
        language: Of the index; a name in `search_plugin.words.languages`.

    Returns:
        Where they stand.
    """
    terms = query_terms(query, language)
    return HeldTerms(*(occurrences(text, terms, language) for text in (title, abstract)))


def share_of_words(
    query: str, held: Set[str], language: str = DEFAULT_LANGUAGE, notions: Sequence[Notion] = ()
) -> float:
    """Return the share of a query's different words that a paper holds, compared as for highlights.

    Args:
        query: What the user searched for.
        held: Those terms of the query and of the other spellings that the paper holds.
        language: Of the index.
        notions: Words of the query with other spellings; a paper that holds one of these holds the words.

    Returns:
        From 0 to 1; 0 without words.
    """
    asked = query_terms(query, language)
    for notion in notions:
        if any(terms and terms <= held for terms in (query_terms(other.text, language) for other in notion.others)):
            held |= query_terms(notion.typed, language)
    return len(held & asked) / len(asked) if asked else 0.0


def occurrences(text: str, terms: frozenset[str], language: str = DEFAULT_LANGUAGE) -> list[Occurrence]:
    """Return where terms stand in a text, in its order."""
    if not terms:
        return []
    if not text.isascii() and _BEYOND_WORDS.search(text):
        return list(_of_any_script(text, terms, language))
    # Each distinct word is compared once. A blank on each side of it keeps it from being found as a part of another.
    spaced = f" {text.translate(SPACED) if text.isascii() else _BETWEEN_WORDS.sub(' ', text)} "
    found = [
        Occurrence(term, at, at + len(word))
        for word, term in word_forms(language).spelling(terms, set(spaced.split()))
        for at in _places(f" {word} ", spaced)
    ]
    return sorted(found, key=attrgetter("start"))


def _places(word: str, spaced: str) -> Iterator[int]:
    at = spaced.find(word)
    while at >= 0:
        yield at
        at = spaced.find(word, at + len(word) - 1)


def _of_any_script(text: str, terms: frozenset[str], language: str) -> Iterator[Occurrence]:
    for token in TOKEN.finditer(text):
        if token[1]:
            yield from _pairs(token[1], token.start(), terms)
        elif (term := term_of(token[0], language)) in terms:
            yield Occurrence(term, token.start(), token.end())


def _pairs(run: str, start: int, terms: frozenset[str]) -> Iterator[Occurrence]:
    for at in range(len(run)):
        for length in (1, 2):
            term = run[at : at + length]
            if len(term) == length and term in terms:
                yield Occurrence(term, start + at, start + at + length)
