"""What patterns stand for in an index: phrases that papers say, words to rank by, and conditions of engines.

Engines hold stems, so papers that only say another word are excluded. Papers are read by id, so that every engine gives
the same phrases and words, and excludes the same papers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

from corpora.paper import Paper
from search_plugin.contract.engine import Index
from search_plugin.contract.legs import BY_ID
from search_plugin.contract.tree import And, Filter, Not, OneOf, Or, Says, TermLike, Wild, WildPhrase, all_of, any_of
from search_plugin.filters.matching import joined, runs_like, texts_of
from search_plugin.words.terms import distinct_words, term_of
from search_plugin.words.wildcards import PatternTerms, is_like, patterned_terms, stems_of

MOST_READ = 5_000
"""Papers that are read for one filter."""

_BLOCK = 250


@dataclass(frozen=True)
class AsWritten:
    """What the patterns of a filter stand for in an index.

    Attributes:
        index: The index.
        phrases: The phrases of papers that each phrase with patterns stands for.
        excluded: The papers that have a term of a pattern, or such a phrase, but not the words as written.
    """

    index: Index
    phrases: Mapping[WildPhrase, Sequence[str]]
    excluded: dict[Wild | WildPhrase, list[str]] = field(default_factory=dict)

    def whole(self, where: Filter) -> tuple[Filter, list[str]]:
        """Return a filter without patterns, and sentences on papers that it may find or leave out wrongly."""
        patterns = list(dict.fromkeys(patterns_of(where)))
        doubts = list(self._doubts(patterns))
        notes = [
            f"{one.typed} may leave out papers: of a word after a star, the index may hold other letters."
            for one in patterns
            if isinstance(one, Wild) and self._terms(one).partial
        ]
        if doubts and self._exclude(all_of(self._loosest(where), any_of(*doubts)) or where, patterns) == MOST_READ:
            notes.append(
                f"Wildcards were compared with the words of the first {MOST_READ:,} papers by id that may say another "
                "word of the same stem, and with stems in further ones: those may say hospital for hospitaliz*."
            )
        return self._rendered(where), notes

    def _exclude(self, candidates: Filter, patterns: Sequence[Wild | WildPhrase]) -> int:
        """Read papers, exclude those that do not say the words, and return how many were read."""
        ids = list(islice(self.index.ids(candidates), MOST_READ + 1))
        if len(ids) > MOST_READ:
            ids = list(_first(self.index, candidates))
        for start in range(0, len(ids), _BLOCK):
            for paper in self.index.papers(ids[start : start + _BLOCK]).values():
                self._read(paper, patterns)
        return len(ids)

    def _rendered(self, where: Filter) -> Filter:
        match where:
            case Wild() | WildPhrase():
                excluded = self.excluded.get(where, [])
                return And((self._loose(where), Not(OneOf("id", tuple(excluded))))) if excluded else self._loose(where)
            case Not(part):
                return Not(self._rendered(part))
            case And(parts):
                return And(tuple(map(self._rendered, parts)))
            case Or(parts):
                return Or(tuple(map(self._rendered, parts)))
            case _:
                return where

    def _loosest(self, where: Filter) -> Filter | None:
        """Return a condition that every paper meets which the filter may find; None if all papers may."""
        match where:
            case Wild() | WildPhrase():
                return self._loose(where)
            case Not(part):
                return None if any(True for _ in patterns_of(part)) else where
            case And(parts):
                return all_of(*map(self._loosest, parts))
            case Or(parts):
                loosest = [self._loosest(part) for part in parts]
                return None if None in loosest else any_of(*loosest)
            case _:
                return where

    def _loose(self, where: Wild | WildPhrase) -> Filter:
        """Return the condition of engines that every paper meets which says the words."""
        if isinstance(where, Wild):
            return loosely(where, self.index.schema.language)
        says = [Says(where.field, said) for said in self.phrases[where]]
        return any_of(*says) or Says(where.field, "")

    def _terms(self, where: Wild) -> PatternTerms:
        return patterned_terms(where.typed, self.index.schema.language)

    def _doubts(self, patterns: Sequence[Wild | WildPhrase]) -> Iterator[Filter]:
        """Yield conditions for the papers that have to be read; together they are short."""
        for name in ("title", "text"):
            known = [self._terms(one) for one in patterns if isinstance(one, Wild) and one.field == name]
            terms = tuple(dict.fromkeys(term for one in known for term in one.unsure))
            expressions = joined([one.unsure_expression for one in known if one.unsure_expression])
            for at, expression in enumerate(expressions or [""]):
                if expression or terms:
                    yield TermLike(name, terms if at == 0 else (), expression)
        for phrase in (one for one in patterns if isinstance(one, WildPhrase)):
            yield from (Says(phrase.field, said) for said in self.phrases[phrase] if self._is_unsure(phrase, said))

    def _is_unsure(self, phrase: WildPhrase, said: str) -> bool:
        """Return whether texts may say a phrase by its stems that is not like one with patterns."""
        language = self.index.schema.language
        run = next(runs_like(phrase, said, language), [])
        return any(
            isinstance(one, Wild) and self._terms(one).is_unsure(term_of(word, language))
            for one, word in zip(phrase.words, run, strict=False)
        )

    def _read(self, paper: Paper, patterns: Sequence[Wild | WildPhrase]) -> None:
        """Exclude a paper from the patterns whose terms it may have though it does not say their words."""
        language = self.index.schema.language
        words = {field: distinct_words(" ".join(texts_of(paper, field))) for field in ("title", "text")}
        stems = {field: set(stems_of(held, language)) | held for field, held in words.items()}
        for one in patterns:
            if isinstance(one, Wild) and not any(map(self._terms(one).is_unsure, stems[one.field])):
                continue
            if not any(True for text in texts_of(paper, one.field) for _ in runs_like(one, text, language)):
                self.excluded.setdefault(one, []).append(paper.id)


def patterns_of(where: Filter | None) -> Iterator[Wild | WildPhrase]:
    """Yield the patterns of a filter, and the phrases that have some."""
    match where:
        case Wild() | WildPhrase():
            yield where
        case Not(part):
            yield from patterns_of(part)
        case And(parts) | Or(parts):
            for part in parts:
                yield from patterns_of(part)


def loosely(where: Wild, language: str) -> TermLike:
    """Return the condition of engines that every paper meets which says a word like a pattern."""
    known = patterned_terms(where.typed, language)
    return TermLike(where.field, known.terms, known.expression)


def _first(index: Index, where: Filter) -> Iterator[str]:
    """Yield the first papers by id that match a filter."""
    after = None
    for _ in range(0, MOST_READ, _BLOCK):
        listing = index.listed(where, BY_ID, _BLOCK, after)
        yield from listing.ids
        if len(listing.ids) < _BLOCK:
            return
        after = listing.positions[-1]


MOST_PHRASES = 200
"""Phrases of an index that one phrase with a pattern may stand for."""

MOST_NAMED = 3
"""Words that a pattern stands for by which papers are ranked: the most frequent ones."""

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
