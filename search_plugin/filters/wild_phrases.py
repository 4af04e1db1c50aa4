"""What patterns stand for in an index: phrases with a pattern as the phrases that papers say, and words to rank by.

Papers are read by id, so that every engine gives the same phrases and words.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from corpora.paper import Paper
from search_plugin.contract.engine import Index
from search_plugin.contract.ordering import BY_ID
from search_plugin.contract.tree import And, Filter, Not, Or, Says, Wild, WildPhrase, all_of
from search_plugin.words.terms import TOKEN, folded, term_of

MOST_PHRASES = 200
"""Phrases of an index that one phrase with a pattern may stand for."""

MOST_READ = 5_000
"""Papers that are read for them."""

MOST_NAMED = 3
"""Words that a pattern stands for by which papers are ranked: the most frequent ones."""

_BLOCK = 250
_SAMPLE = 50


def phrases_like(index: Index, phrase: WildPhrase) -> tuple[Filter, str]:
    """Return the filter for the phrases of an index that a phrase with patterns stands for, and what it left out."""
    language = index.schema.language
    parts = [one if isinstance(one, Wild) else Says(phrase.field, one) for one in phrase.words]
    told = [one for one in parts if isinstance(one, Wild) or term_of(one.words, language)]
    found: dict[tuple[str, ...], str] = {}
    after, read, note = None, 0, ""
    while True:
        known = [Not(Says(phrase.field, said)) for said in found.values()]
        listing = index.listed(all_of(*told, *known), BY_ID, _BLOCK, after)
        for paper in index.papers(listing.ids).values():
            found |= dict(_said(paper, phrase, language))
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
    if not found:
        return Says(phrase.field, ""), f'No paper says a phrase like "{phrase.typed}".'
    says = tuple(Says(phrase.field, said) for said in found.values())
    return Or(says) if len(says) > 1 else says[0], note


def _said(paper: Paper, phrase: WildPhrase, language: str) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield the phrases of a paper that a phrase stands for, with their terms."""
    asked = [one if isinstance(one, Wild) else term_of(one, language) for one in phrase.words]
    for text in (paper.title,) if phrase.field == "title" else (paper.title, paper.abstract):
        words = [token[0] for token in TOKEN.finditer(text)]
        terms = [term_of(word, language) for word in words]
        for at in range(len(words) - len(asked) + 1):
            held = terms[at : at + len(asked)]
            if all(_is(one, term) for one, term in zip(asked, held, strict=True)):
                yield tuple(held), " ".join(words[at : at + len(asked)])


def _is(asked: str | Wild, term: str) -> bool:
    """Return whether a term is the one asked for; where a stop word is asked for, any word may stand."""
    return asked.accepts(term) if isinstance(asked, Wild) else not asked or asked == term


def words_like(index: Index, wild: Wild) -> list[str]:
    """Return the most frequent words of some papers that a pattern stands for; none if no paper has one."""
    language, counts = index.schema.language, Counter[str]()
    ids = index.listed(wild, BY_ID, _SAMPLE).ids
    for paper in index.papers(ids).values():
        words = (folded(token[0]) for text in (paper.title, paper.abstract) for token in TOKEN.finditer(text))
        counts.update({word for word in words if wild.accepts(term_of(word, language))})
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
