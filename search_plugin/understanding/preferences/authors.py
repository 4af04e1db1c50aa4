"""Queries that name an author: "Toth EA", "papers by Kim, Mi-Na", "Fuerst hepatitis C", "toth e 2019", "Toth et al".

A query is taken for one only if it has the shape of a name and an author of the index has that name. Shapes that are
shared with ordinary queries ("Vitamin D", "Breast Cancer") must also hold a word that few papers have in title or
abstract, and a family name before a topic ("Fuerst hepatitis C") one that none has.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Literal

from corpora.errors import InputError
from search_plugin.contract.engine import Index
from search_plugin.contract.plan import Counting, Plan
from search_plugin.contract.tree import Alike, Compare, Filter, OneOf
from search_plugin.filters.resolve import resolve
from search_plugin.understanding.meaning import Meaning, Preference
from search_plugin.words.languages import get_language
from search_plugin.words.names import PARTICLES

RARE = 2
"""Papers whose title or abstract may hold a word before the author must have as many for it to be taken for a name."""

COMMON = 500
"""A word that is in more than one of so many papers, and in more than `FEW`, is no part of a name."""

FEW = 20

_MOST_WORDS = 6
_MOST_OF_NAME = 3
_LONGEST_WORD = 40
_MOST_NAMES = 4

_BY = re.compile(
    r"(?P<topic>.*?)\b(?:(?:papers?|articles?|publications?|work|works|studies|research)\s+)?"
    r"(?:(?:written|authored|published)\s+)?by\s+(?P<name>[^\W\d_].*?)"
    r"(?:\s+(?:about|on|of|regarding|concerning)\s+(?P<about>.+))?",
    re.IGNORECASE,
)
_EXPLICIT = re.compile(
    r".*\b(?:papers?|articles?|publications?|works?|written|authored|published)\s+by\s", re.IGNORECASE
)
_ET_AL = re.compile(r"(?P<before>.*?),?\s*\bet\.? al\b\.?,?\s*(?P<after>.*)", re.IGNORECASE)
_LETTERS = r"[^\W\d_]"
_WORD = rf"{_LETTERS}(?:{_LETTERS}|['’‐.-])*"  # noqa: RUF001 - an apostrophe and a hyphen as they are typed
_COMMA = re.compile(rf"{_WORD}(?: {_WORD}){{0,2}}, ?{_WORD}(?: {_WORD}){{0,2}}")
_DATED = re.compile(rf"(?P<name>{_LETTERS}{{3,}},? [a-z]{{1,2}}) (?P<topic>\(?(?:1[5-9]|20)\d\d\b.*)")
_INITIALS = re.compile(r"(?:[A-Z]\.?-?){1,3}")
_CAPITALISED = re.compile(rf"(?:[A-Z]['’])?[^\W\d_a-z]{_LETTERS}*[a-z](?:{_LETTERS}|['’‐-])*")  # noqa: RUF001 - as above


Doubt = Literal["none", "initials", "words", "word"]
"""Whether only a name has this shape, or other things too: a word and capitals, capitalised words, a single word."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A part of a query that may be a name.

    Attributes:
        name: The part.
        topic: All else.
        doubt: What else it may be.
        explicit: Whether the query says that it is a name: "papers by Toth", "Toth et al".
    """

    name: str
    topic: str = ""
    doubt: Doubt = "none"
    explicit: bool = False


def recognise_author(index: Index, meaning: Meaning) -> Meaning:
    """Find the author that a query without identifiers names.

    Returns the rest of the query, and a preference for the author's papers. Without such an author it returns the same,
    with a note if the query says that it names one. A single word gives only a note.
    """
    for reading in readings(meaning.topic):
        occurs = 0
        if reading.doubt != "none":
            occurs = min(_frequency(index, word) for word in _full_words(reading.name) or [reading.name])
            if occurs > (0 if reading.doubt == "word" else max(FEW, index.count() // COMMON)):
                continue
        try:
            found = resolve(Alike("authors", "name", (reading.name,)), index, suggest=False).filter
        except InputError:  # more names begin like this one than an engine lists
            continue
        names = _names(found)
        if not found or not names:
            if reading.explicit:
                return _unknown(index, meaning, reading)
            continue
        if reading.doubt == "initials" and occurs > RARE and sum(1 for _ in islice(index.ids(found), occurs)) < occurs:
            continue
        if reading.doubt == "word" and not reading.topic:
            # A plant or a town is as likely.
            note = f'No paper says {reading.name}, but authors have this name; "by {reading.name}" finds their papers.'
            return replace(meaning, notes=(*meaning.notes, note))
        author = Preference("author", found, f"by {_listed(names)}")
        return replace(meaning, topic=reading.topic, preferences=(author, *meaning.preferences))
    return meaning


def _unknown(index: Index, meaning: Meaning, reading: Reading) -> Meaning:
    """Return the query without an author that the index does not have, with the names that are nearest."""
    if not reading.name:
        return replace(meaning, notes=(*meaning.notes, 'Write the name of an author before "et al".'))
    notes = resolve(Alike("authors", "name", (reading.name,)), index).notes
    return replace(meaning, topic=reading.topic, notes=(*meaning.notes, *notes))


def readings(query: str) -> Iterator[Reading]:
    """Yield the parts of a query that may be an author's name, the likeliest first."""
    words = query.split()
    if several := _ET_AL.fullmatch(query):
        yield _first_author(several["before"], several["after"])
        return
    if named := _BY.fullmatch(query):
        name, before, about = named["name"].strip(" .?!,"), named["topic"].strip(" ,."), named["about"] or ""
        if len(name.split()) <= 4 and (not before or (name[0].isupper() and not _INITIALS.fullmatch(name))):
            topic = f"{before} {about}".strip()
            yield Reading(name, topic, explicit=bool(_EXPLICIT.match(query)) and not before)
        return
    if dated := _DATED.fullmatch(query):
        yield Reading(dated["name"], dated["topic"])
    if len(words) > _MOST_WORDS:
        return
    if _COMMA.fullmatch(query):
        yield Reading(query)
    elif "," not in query:
        yield from _without_comma(words)


def _first_author(before: str, after: str) -> Reading:
    """Return the name before "et al": all that stands there, or the last words with capitals."""
    words = before.replace(",", " ").split()
    start = next((at for at in range(len(words)) if any(word[0].isupper() for word in words[at:][:1])), 0)
    if len(words) - start > _MOST_OF_NAME:
        start = len(words) - 1
    return Reading(" ".join(words[start:]), " ".join((*words[:start], after)).strip(), explicit=True)


def _without_comma(words: Sequence[str]) -> Iterator[Reading]:
    count = len(words)
    if max(map(len, words)) > _LONGEST_WORD:
        return
    if count == 1:
        if len(words[0]) > 2 and re.fullmatch(_WORD, words[0]):
            yield Reading(words[0], doubt="word")
        return
    for length in range(min(count, 4), 1, -1):
        # The whole query, or its beginning or end.
        for start in dict.fromkeys((0, count - length)):
            part = words[start : start + length]
            if doubt := _shape(part):
                yield Reading(" ".join(part), " ".join((*words[:start], *words[start + length :])), doubt)
    if _CAPITALISED.fullmatch(words[0]) and not _INITIALS.fullmatch(words[1]):
        yield Reading(words[0], " ".join(words[1:]), "word")


def _shape(words: Sequence[str]) -> Doubt | None:
    """Return what else words can be that look like a name ("Toth E A", "E. Toth", "Eric Toth"); None if they don't."""
    full = _full_words(" ".join(words))
    capitalised = [word for word in full if word.lower() not in PARTICLES]
    if not capitalised or not all(map(_CAPITALISED.fullmatch, capitalised)):
        return None
    if len(full) == len(words):
        return "words" if len(capitalised) <= 3 else None
    if full in (list(words[: len(full)]), list(words[-len(full) :])):
        return "initials"
    return "words" if words[0] in full and words[-1] in full else None


def _full_words(name: str) -> list[str]:
    return [word for word in name.replace(",", " ").split() if not _INITIALS.fullmatch(word)]


def _frequency(index: Index, word: str) -> int:
    """Return how many papers hold a word in title or abstract; a stop word is in all of them."""
    if word.lower() in get_language(index.schema.language).stop_words:
        return index.count()
    facets = index.fetch([], Counting(Plan(word, (), None, 1), [], [], 1))[1]
    return facets.matches if facets else 0


def _names(found: Filter | None) -> tuple[str, ...]:
    match found:
        case Compare(_, _, value):
            return (str(value),)
        case OneOf(_, values):
            return tuple(map(str, values))
        case _:
            return ()


def _listed(names: Sequence[str]) -> str:
    shown, left = ", ".join(sorted(names)[:_MOST_NAMES]), len(names) - _MOST_NAMES
    return f"{shown} and {left:,} other form{'s' if left > 1 else ''} of the name" if left > 0 else shown
