"""Misspelled words of a query, corrected by the words of the index itself.

A word is taken as misspelled if no paper holds it. Papers that hold a similar term are read, and of their words the
nearest by edits is chosen, then the one that most papers hold.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from corpora.paper import Paper
from search_plugin.contract.engine import Index
from search_plugin.understanding.expansion import expand
from search_plugin.words.terms import TOKEN, UNSPACED, distinct_words, edits, folded, term_of, terms_of

MOST_WORDS = 40
"""A longer text is pasted, and not corrected."""

MOST_CORRECTED = 4
"""Words of one query that are looked up; if more are unknown, the query is probably of another kind."""

SHORTEST = 5
"""Letters of a word; shorter ones are near to too many others."""

SHORTEST_OF_TWO = 9
"""Letters of a word that may hold two mistakes."""

FEWEST = 3
"""Papers that hold the word that is taken instead; a rarer one may be a mistake itself, or the only one of its kind."""

FEWEST_OF_LONG = 2
"""The same for a word of `SHORTEST_OF_TWO` letters or more, which hardly resembles another by chance."""

_QUESTIONS = """
about above across after again against almost along already although always among another because been before being
below best better between both could does doing down during each either every from give given have having help here
instead just keep know less like made make many might more most much must near necessary never often once only other
ought over prove question quite rather really same shall should since some still such take taken than thanks that them
then there these they thing think those though through together toward under until upon used using versus very want
were what when where whether which while whose will with within without work would your yourself
"""
_USUAL = frozenset(_QUESTIONS.split())
"""Words that people use in questions, and that hardly any abstract holds."""

SAMPLE = 40
"""Papers that are read for each unknown word."""

_UNSPACED_RUN = re.compile(f"[{UNSPACED}]")
_HALF = 4
"""Letters of each of two words that were typed as one."""

_CANDIDATES = 8
_ENDINGS = ("ation", "tion", "ion", "ment", "ing", "ies", "ive", "ity", "al", "ed", "es", "ic", "s", "e", "y")


@dataclass(frozen=True, slots=True)
class Corrected:
    """The words to search for, what replaced each misspelled word as typed, and the typed words that no paper holds."""

    words: str
    changes: Mapping[str, str] = field(default_factory=dict)
    unknown: tuple[str, ...] = ()

    @property
    def notes(self) -> tuple[str, ...]:
        """A sentence for the user if something was corrected."""
        if not self.changes:
            return ()
        typed = " or ".join(f'"{word}"' for word in self.changes)
        return (f'No paper says {typed}: searched for "{self.words}". Search verbatim for the words as typed.',)


def look_up_words(index: Index, text: str) -> Corrected:
    """Find which words of a query no paper holds; nothing is corrected, and of a pasted text there are none."""
    language = index.schema.language
    words = list(dict.fromkeys(token[0] for token in TOKEN.finditer(text) if term_of(token[0], language)))
    if not words or len(words) > MOST_WORDS:
        return Corrected(text)
    held = index.document_frequencies(words)
    unknown = tuple(word for word in words if not held[word] and not _UNSPACED_RUN.match(word))
    if unknown:
        others = _spelled_otherwise(index, text, unknown)
        unknown = tuple(word for word in unknown if word not in others)
    return Corrected(text, unknown=unknown)


def _spelled_otherwise(index: Index, text: str, unknown: Sequence[str]) -> set[str]:
    """Return the words of which papers hold another spelling."""
    others = {one.typed: [other.text for other in one.others] for one in expand(text, index.schema.language).groups}
    spelled = {one: word for word in unknown for one in others.get(word, ())}
    counts = index.document_frequencies(list(spelled)) if spelled else {}
    return {spelled[one] for one, count in counts.items() if count}


def correct(index: Index, looked: Corrected) -> Corrected:
    """Correct the words that no paper holds, where the index has a similar word; other words stay as typed."""
    wanted = [word for word in looked.unknown if _may_be_misspelled(word)]
    if not wanted or len(wanted) > MOST_CORRECTED:
        return looked
    changes = {word: better for word in wanted if (better := _nearest(index, word))}
    unknown = tuple(word for word in looked.unknown if word not in changes)
    return Corrected(with_changes(looked.words, changes), changes, unknown)


def with_changes(text: str, changes: Mapping[str, str]) -> str:
    """Return a text with some of its words replaced."""
    return "".join(changes.get(part, part) for part in _parts(text))


def _may_be_misspelled(word: str) -> bool:
    """Return whether a word is written as a person writes a word: with a capital at its beginning at most."""
    return word.isalpha() and word[1:].islower() and len(word) >= SHORTEST and word.lower() not in _USUAL


def _parts(text: str) -> Iterator[str]:
    """Yield the words of a text, and what stands between them."""
    end = 0
    for token in TOKEN.finditer(text):
        yield text[end : token.start()]
        yield token[0]
        end = token.end()
    yield text[end:]


def _nearest(index: Index, typed: str) -> str:
    """Return the word of the index that was probably meant; empty if there is none."""
    word, language = folded(typed), index.schema.language
    most = 2 if len(word) >= SHORTEST_OF_TWO else 1
    # A stem may differ in more letters than its word.
    for distance in (1, 2) if len(word) > SHORTEST + 1 else (1,):
        near = _near(word, index.fuzzy_matches(_stems(word, language), distance, SAMPLE), most)
        if near:
            held = index.document_frequencies(near)
            best = max(near, key=lambda one: held[one])
            fewest = FEWEST if most == 1 else FEWEST_OF_LONG
            return best if held[best] >= fewest else ""
    return _split(index, word)


def _stems(word: str, language: str) -> list[str]:
    """Return terms that a word misspelled before its ending may resemble: a stemmer cuts only right endings off."""
    shorter = [word.removesuffix(ending) for ending in _ENDINGS if word.endswith(ending)]
    terms = [term for one in [word, *shorter] if len(one) >= _HALF for term in terms_of(one, language)]
    return [term for term in dict.fromkeys([word, *terms]) if term]


def _near(word: str, papers: Iterable[Paper], distance: int) -> list[str]:
    """Return the words of some papers at the least distance from a word, the most frequent first."""
    counts: dict[str, int] = {}
    letters = set(word)
    for paper in papers:
        for one in distinct_words(paper.title) | distinct_words(paper.abstract):
            # Few people mistype the first letter, and other words often differ in it.
            if one[0] != word[0] or abs(len(one) - len(word)) > distance or not one.isalpha():
                continue
            # An edit takes away one letter and adds another at most: words that differ in more need not be measured.
            if len(letters.symmetric_difference(one)) <= 2 * distance:
                counts[one] = counts.get(one, 0) + 1
    away = {one: edits(word, one) for one in counts}
    least = min(away.values(), default=distance + 1)
    if least > distance:
        return []
    return sorted((one for one in counts if away[one] == least), key=lambda one: (-counts[one], one))[:_CANDIDATES]


def _split(index: Index, word: str) -> str:
    """Return a word as two words of the index, such as `heart attack`; empty if there are no such two."""
    halves = [(word[:at], word[at:]) for at in range(_HALF, len(word) - _HALF + 1)]
    if not halves:
        return ""
    held = index.document_frequencies(list(dict.fromkeys(part for pair in halves for part in pair)))
    best = max(halves, key=lambda pair: min(held[part] for part in pair))
    return " ".join(best) if min(held[part] for part in best) >= FEWEST else ""
