"""Queries that name an author: "Toth EA", "papers by Kim, Mi-Na", "Fuerst hepatitis C".

A query is taken for one only if it has the shape of a name and an author of the index has that name. Shapes that are
shared with ordinary queries ("Vitamin D", "Breast Cancer") must also hold a word that few papers have in title or
abstract, and a family name before a topic ("Fuerst hepatitis C") one that none has.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Literal

from search_plugin.filters.resolve import resolve
from search_plugin.filters.tree import Alike, And, Compare, OneOf
from search_plugin.known import Known
from search_plugin.languages import get_language
from search_plugin.names import PARTICLES
from search_plugin.plan import Counting, Plan

if TYPE_CHECKING:
    from search_plugin.engines.base import Index
    from search_plugin.filters.tree import Filter

RARE = 2
"""Papers whose title or abstract may hold a word before the author must have as many for it to be taken for a name."""

COMMON = 500
"""A word that is in more than one of so many papers, and in more than `FEW`, is no part of a name."""

FEW = 20

MOST_PAPERS = 1_000
"""Papers of an author that are listed without a topic."""

_MOST_WORDS = 6
_LONGEST_WORD = 40
_NAMES_TOLD = 4

_BY = re.compile(
    r"(?P<topic>.*?)\b(?:(?:papers?|articles?|publications?|work|works|studies|research)\s+)?"
    r"(?:(?:written|authored|published)\s+)?by\s+(?P<name>[^\W\d_].*)",
    re.IGNORECASE,
)
_LETTERS = r"[^\W\d_]"
_WORD = rf"{_LETTERS}(?:{_LETTERS}|['’‐.-])*"  # noqa: RUF001 - an apostrophe and a hyphen as they are typed
_COMMA = re.compile(rf"{_WORD}(?: {_WORD}){{0,2}}, ?{_WORD}(?: {_WORD}){{0,2}}")
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
    """

    name: str
    topic: str = ""
    doubt: Doubt = "none"


def recognise_author(index: Index, known: Known, where: Filter | None) -> Known:
    """Find the author that a query names.

    Args:
        index: Of any engine.
        known: The query, without identifiers.
        where: Filter of exact comparisons that all papers must match.

    Returns:
        The same if there is no such author. If the query is nothing but the name, the author's papers, the latest
        first; else the topic, and the author's papers to be ranked first. A single word is only noted.
    """
    for reading in readings(known.topic):
        occurs = 0
        if reading.doubt != "none":
            occurs = min(_frequency(index, word) for word in _full_words(reading.name) or [reading.name])
            if occurs > (0 if reading.doubt == "word" else max(FEW, index.count() // COMMON)):
                continue
        found = resolve(Alike("authors", "name", (reading.name,)), index, suggest=False).filter
        names = _names(found)
        if not found or not names:
            continue
        if reading.doubt == "initials" and occurs > RARE and sum(1 for _ in islice(index.ids(found), occurs)) < occurs:
            continue
        if reading.doubt == "word" and not reading.topic:
            # A plant or a town is as likely.
            told = f'No paper says {reading.name}, but authors have this name; "by {reading.name}" finds their papers.'
            return replace(known, notes=(*known.notes, told))
        return _of_author(index, known, reading, found, names, where)
    return known


def readings(query: str) -> Iterator[Reading]:
    """Yield the parts of a query that may be an author's name, the likeliest first."""
    words = query.split()
    if asked := _BY.fullmatch(query):
        name, topic = asked["name"].strip(" .?!"), asked["topic"].strip(" ,.")
        if len(name.split()) <= 4 and (not topic or name[0].isupper()):
            yield Reading(name, topic)
        return
    if len(words) > _MOST_WORDS:
        return
    if _COMMA.fullmatch(query):
        yield Reading(query)
    elif "," not in query:
        yield from _without_comma(words)


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


def _of_author(
    index: Index, known: Known, reading: Reading, author: Filter, names: Sequence[str], where: Filter | None
) -> Known:
    told = " and ".join(filter(None, (", ".join(sorted(names)[:_NAMES_TOLD]), _more(len(names) - _NAMES_TOLD))))
    if reading.topic or known.papers:
        return replace(
            known,
            topic=reading.topic,
            author=author,
            notes=(*known.notes, f"Papers by {told} come first."),
        )
    both = And((where, author)) if where else author
    papers = index.papers(list(islice(index.ids(both), MOST_PAPERS))).values()
    ordered = sorted(papers, key=lambda paper: (-(paper.year or 0), paper.id))
    return replace(
        known,
        topic="",
        papers={paper.id: paper for paper in ordered},
        by={paper.id: "author" for paper in ordered},
        notes=(*known.notes, f"Papers by {told}, the latest first."),
    )


def _more(count: int) -> str:
    return f"{count:,} other form{'s' if count > 1 else ''} of the name" if count > 0 else ""
