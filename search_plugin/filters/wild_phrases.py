"""What patterns stand for in an index: phrases with a pattern as the phrases that papers say, and words to rank by.

Papers are read by id, so that every engine gives the same phrases and words.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from search_plugin.contract.engine import Index
from search_plugin.contract.legs import BY_ID
from search_plugin.contract.tree import And, Filter, Not, Or, Says, TermLike, Wild, WildPhrase, all_of
from search_plugin.filters.matching import runs_like, texts_of
from search_plugin.filters.written import MOST_READ, loosely
from search_plugin.words.terms import distinct_words, term_of
from search_plugin.words.wildcards import is_like

MOST_PHRASES = 200
"""Phrases of an index that one phrase with a pattern may stand for."""

MOST_NAMED = 3
"""Words that a pattern stands for by which papers are ranked: the most frequent ones."""

_BLOCK = 250
_SAMPLE = 50


def phrases_like(index: Index, phrase: WildPhrase) -> tuple[list[str], str]:
    """Return the phrases of an index that a phrase with patterns stands for, and a sentence on what it left out."""
    language = index.schema.language
    parts = [loosely(one, language) if isinstance(one, Wild) else Says(phrase.field, one) for one in phrase.words]
    told = [one for one in parts if isinstance(one, TermLike) or term_of(one.words, language)]
    found: dict[tuple[str, ...], str] = {}
    after, read, note = None, 0, ""
    while True:
        known = [Not(Says(phrase.field, said)) for said in found.values()]
        listing = index.listed(all_of(*told, *known), BY_ID, _BLOCK, after)
        for paper in index.papers(listing.ids).values():
            for run in (run for text in texts_of(paper, phrase.field) for run in runs_like(phrase, text, language)):
                found[tuple(term_of(word, language) for word in run)] = " ".join(run)
        read += len(listing.ids)
        if len(listing.ids) < _BLOCK:
            break
        if read >= MOST_READ or len(found) > MOST_PHRASES:
            note = (
                f'"{phrase.typed}" stands for more phrases than are looked up: {len(found):,} were found in the first '
                f"{read:,} papers by id, and others are left out; write it without the wildcard to find them."
            )
            break
        after = listing.positions[-1]
    return list(found.values()), note if found else f'No paper says a phrase like "{phrase.typed}".'


def words_like(index: Index, wild: Wild) -> list[str] | None:
    """Return the most frequent words of some papers that a pattern stands for; None if no paper has one."""
    language, counts = index.schema.language, Counter[str]()
    listing = index.listed(loosely(wild, language), BY_ID, _SAMPLE)
    for paper in index.papers(listing.ids).values():
        words = distinct_words(" ".join(texts_of(paper, "text")))
        counts.update(word for word in words if is_like(wild.typed, word))
    if not counts and len(listing.ids) < _SAMPLE:
        return None
    ordered = sorted(counts, key=lambda word: (-counts[word], word))
    distinct = {term_of(word, language): word for word in reversed(ordered)}
    return [word for word in ordered if word in distinct.values()][:MOST_NAMED]


def wilds_of(where: Filter | None) -> Iterator[Wild]:
    """Yield the patterns of a filter that hits must say."""
    match where:
        case Wild():
            yield where
        case And(parts) | Or(parts):
            for part in parts:
                yield from wilds_of(part)
