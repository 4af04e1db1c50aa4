"""Venues in a query's words, also abbreviated as by ISO 4 or NLM: "J Med Virol masks", "hypertension N Engl J Med".

No list of abbreviations is needed: the venues of the index are compared word by word, without small words such as "of".
A word and its abbreviation begin alike ("Virol"), or the abbreviation keeps some letters in their order ("Natl").
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from itertools import pairwise

from corpora.errors import InputError
from search_plugin.contract.engine import Index
from search_plugin.contract.tree import Compare, OneOf
from search_plugin.filters.matching import word_like
from search_plugin.filters.parse import quoted
from search_plugin.understanding.meaning import Preference
from search_plugin.understanding.preferences.frequency import rare_words
from search_plugin.understanding.preferences.numbers import YEAR
from search_plugin.words.terms import folded

MOST_WORDS = 12
"""Words of a query in which a venue is looked for."""

MOST_CHARACTERS = 400
"""Characters of a query in which a venue is looked for."""

LONGEST = 8
"""Words of a venue's name as typed."""

MOST_STARTS = 5
"""Beginnings of words by which venues are looked up."""

MOST_VENUES = 4
"""Venues that an abbreviation may stand for; if there are more, a note names them."""

_SMALL = frozenset(
    (
        *("a", "an", "and", "at", "by", "de", "del", "della", "der", "des", "di", "die", "do", "dos", "du", "e", "el"),
        *("en", "et", "for", "fur", "i", "im", "in", "la", "las", "le", "les", "los", "of", "on", "the", "to", "und"),
        *("van", "voor", "y", "zur"),
    )
)
_SERIALS = frozenset(
    (
        *("acta", "annales", "annals", "archives", "archiv", "bulletin", "giornale", "journal", "proceedings"),
        *("revista", "revue", "rivista", "transactions", "zeitschrift"),
    )
)
"""Words that names of journals begin with or hold, and topics do not."""

_ABBREVIATED = frozenset(("j", "ann", "proc"))
"""Abbreviations of these."""

_SEPARATOR = "\x1f"
"""Between the venues of a remembered answer; stored texts have no control characters."""

_AFTER_NAME = re.compile(r"\s*[(:=/]|\s+-\s")
_APOSTROPHES = re.compile("['\u2019]")
_WORDS = re.compile(r"[^\W_]+")
_A_YEAR = re.compile(YEAR)
_LINKS = re.compile(r"(?:,|\b(?:published|(?:published\s+)?(?:in|from)))\s*$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class VenueRead:
    """A venue that a query names.

    Attributes:
        preference: Preference for its papers; None if only a note names it.
        topic: The other words.
        note: What the user should know instead of a preference; empty for nothing.
    """

    preference: Preference | None
    topic: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class _Segment:
    """The first or last words of a query as they stand there, the other words, and the words of the name, folded."""

    typed: str
    topic: str
    words: tuple[str, ...]


def venue_words(name: str) -> tuple[str, ...]:
    """Return the words of a venue's name that count, folded: no small words, no addition such as "(London)"."""
    whole = [folded(word) for word in _WORDS.findall(_APOSTROPHES.sub("", _AFTER_NAME.split(name, maxsplit=1)[0]))]
    return tuple(word for word in whole if word not in _SMALL) or tuple(whole)


def abbreviates(short: str, long: str) -> int | None:
    """Return how a word stands for another: 0 if it is the same, 1 for its beginning, 2 for some letters; else None."""
    if short == long:
        return 0
    if long.startswith(short):
        return 1
    if len(short) < 3 or len(long) < len(short) + 2 or short[0] != long[0]:
        return None
    letters = iter(long)
    return 2 if all(letter in letters for letter in short) else None


def distance(typed: Sequence[str], stored: Sequence[str]) -> int | None:
    """Return how far typed words are from those of a venue: 0 to 2 as of `abbreviates`, or None if they don't fit."""
    if len(typed) != len(stored):
        return None
    steps = [_either_way(one, other) for one, other in zip(typed, stored, strict=True)]
    known = [step for step in steps if step is not None]
    return max(known, default=None) if len(known) == len(steps) else None


def _either_way(one: str, other: str) -> int | None:
    step = abbreviates(one, other)
    return abbreviates(other, one) if step is None else step


def read_venue(index: Index, query: str, whole: str) -> VenueRead | None:
    """Return the venue that a query names by its first or last words; None if it names none.

    Its name or abbreviation must cover all words of a venue of the index, and hold one that hardly any paper says, or
    one of journals' names. `query` has no identifiers, and no year at its beginning or end. `whole` is the same with
    the year; one word alone can be a venue only beside it.
    """
    if len(whole) > MOST_CHARACTERS:
        return None
    words = _words_of(query)
    segments = [one for one in _segments(query) if len(one.words) > 1 or _is_dated(one.typed, whole)]
    if len(words) > MOST_WORDS or not segments:
        return None
    distinctive = _distinctive_words(index, query, words)
    capitalised = [one for one in segments if _is_name(one.typed) and _is_dated(one.typed, whole)]
    if not (distinctive or capitalised):
        return None
    stored = {venue: venue_words(venue) for venue in _candidates(index, words, distinctive, capitalised)}
    for segment in segments:
        steps = {venue: step for venue, of in stored.items() if (step := distance(segment.words, of)) is not None}
        near = [venue for venue, step in steps.items() if step < 2] or list(steps)
        sure = [venue for venue in near if _is_meant(segment, stored[venue], distinctive)]
        if sure:
            return _meant(segment, sure)
        if segment in capitalised and (same := [venue for venue in near if steps[venue] == 0]):
            year = re.findall(rf"\b{YEAR}\b", whole)[0]
            fields = f"journal:{quoted(same[0])} year:{year}"
            note = f"{segment.typed} is also a venue of this index; {fields} finds its papers of that year."
            return VenueRead(None, query, note)
    if _ABBREVIATED & set(words[:-1]) and distinctive - {"j"} and not _initial(query):
        return VenueRead(None, query, "The query seems to name a journal, but no venue of this index has such a name.")
    return None


def _words_of(text: str) -> list[str]:
    return [folded(word) for word in _WORDS.findall(_APOSTROPHES.sub("", text))]


def _initial(query: str) -> bool:
    """Return whether the J of a query is probably that of a given name, as in "smith j"."""
    return bool(re.match(r"\S+,? j\b", query, re.IGNORECASE))


def _distinctive_words(index: Index, query: str, words: Sequence[str]) -> Set[str]:
    """Return the words that hardly any paper says, or that only names of journals hold."""
    rare = {folded(word) for word in rare_words(index, query) if word.isalpha()}
    return {*rare - _SMALL, *(word for word in words if word == "j" or word in _SERIALS)}


def _segments(query: str) -> Iterator[_Segment]:
    """Yield the beginnings and ends of a query that may be a name, the longest first."""
    parts = query.split()
    for length in range(min(len(parts), LONGEST + 3), 0, -1):
        for start in dict.fromkeys((0, len(parts) - length)):
            typed = " ".join(parts[start : start + length]).strip(" ,;")
            words = venue_words(typed)
            if 0 < len(words) <= LONGEST and words[-1] not in _SMALL:
                topic = " ".join((*parts[:start], *parts[start + length :]))
                yield _Segment(typed, _LINKS.sub("", topic).strip(" ,;"), words)


def _is_dated(typed: str, whole: str) -> bool:
    """Return whether a year stands before or after some words."""
    if not _A_YEAR.search(whole):  # so no expression is compiled for most queries
        return False
    name = re.escape(typed)
    return bool(re.search(rf"(?:\b{YEAR}\)?[,;:]?\s+{name}(?!\S))|(?:(?<!\S){name}[,;.]?\s+\(?{YEAR}\b)", whole))


def _is_name(typed: str) -> bool:
    return all(word[0].isupper() for word in _WORDS.findall(typed) if word not in _SMALL)


def _is_meant(segment: _Segment, stored: Sequence[str], distinctive: Set[str]) -> bool:
    """Return whether a segment can be nothing but a venue's name."""
    if len(segment.words) > 1:
        for one, other in zip(segment.words, stored, strict=True):
            if one in _SERIALS or (one == "j" and other in ("j", "jornal", *_SERIALS)):
                return True
            if one in distinctive and len(one) > 1 and one != other and len(other) > len(one) + 1:
                return True
    return bool(distinctive & set(segment.words)) and _is_name(segment.typed) and tuple(segment.words) == tuple(stored)


def _meant(segment: _Segment, venues: Sequence[str]) -> VenueRead:
    names = sorted(venues)
    shown = sorted({_AFTER_NAME.split(name, maxsplit=1)[0] for name in names})
    if len({venue_words(name) for name in names}) > MOST_VENUES:
        named = f"name one as journal:{quoted(names[0])}"
        note = f"{segment.typed} may be any of {len(names)} venues, such as {', '.join(shown[:MOST_VENUES])}; {named}."
        return VenueRead(None, f"{segment.typed} {segment.topic}".strip(), note)
    where = Compare("venue", "=", names[0]) if len(names) == 1 else OneOf("venue", tuple(names))
    return VenueRead(Preference("venue", where, f"in {' or '.join(shown)}"), segment.topic)


def _candidates(index: Index, words: Sequence[str], distinctive: Set[str], names: Sequence[_Segment]) -> Sequence[str]:
    """Return the venues of the index with a word that begins like one that a venue must have, in one request.

    `words` are those of the query, folded; `names` are its beginnings and ends that may be whole names. Returns none if
    there are too many.
    """
    pairs = (*pairwise(words), *pairwise(reversed(words)))
    beside = [other for one, other in pairs if one in distinctive and len(one) == 1]
    asked = [*sorted(distinctive - _SERIALS), *beside, *(one.words[0] for one in names[-2:])]
    if distinctive & _SERIALS:
        asked += words
    starts = dict.fromkeys(word[:3] for word in asked if len(word) > 1 and word not in _SMALL | _SERIALS)
    expressions = [word_like(start) for start in list(starts)[:MOST_STARTS]]
    if not expressions:
        return ()

    def look() -> str:
        try:
            return _SEPARATOR + _SEPARATOR.join(index.matching_values({"venue": expressions})["venue"])
        except InputError:  # too many begin alike
            return _SEPARATOR

    return list(filter(None, index.cached(f"venues with {' '.join(starts)}", look).split(_SEPARATOR)))
