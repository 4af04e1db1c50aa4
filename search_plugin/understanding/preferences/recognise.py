"""What a query names beside its topic, looked up in the index before anything is ranked."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import islice

from corpora.paper import Paper
from search_plugin.contract.engine import Index
from search_plugin.contract.legs import NEWEST_FIRST
from search_plugin.contract.tree import And, Filter, OneOf, Or, Says, all_of
from search_plugin.filters.matching import ANYTHING
from search_plugin.understanding.meaning import Meaning, Preference, described
from search_plugin.understanding.preferences.authors import recognise_author
from search_plugin.understanding.preferences.frequency import has_papers, is_term
from search_plugin.understanding.preferences.numbers import read_numbers, read_years, year_at_an_end
from search_plugin.understanding.preferences.venues import read_venue
from search_plugin.words.terms import terms_of

MOST_PAPERS = 1_000
"""Papers of an author that are listed without a topic."""

MOST_COMPARED = 8
"""Words of a query that compares, such as "SARS-CoV-2 vs influenza"; a longer one is a sentence."""

_AGAINST = re.compile(r"(?P<one>\S.*?)\s+(?:vs\.?|versus)\s+(?P<other>.*\S)", re.IGNORECASE)

MOST_TYPED = 10
"""Words of a query that names a type of publication; a longer one is a sentence."""

_TYPE = (
    r"(?:(?:systematic|scoping|narrative|literature)\s+)?reviews?|meta[-\u2010\u2011 ]?analys[ei]s"
    r"|(?:(?:randomi[sz]ed\s+)?(?:controlled\s+)?(?:clinical\s+)?)trials?|rcts?|observational\s+stud(?:y|ies)"
    r"|case\s+reports?|(?:practice\s+)?guidelines?|editorials?"
)
_ABOUT = r"of|on|about|for|in|regarding|concerning|into"
_FIRST = re.compile(
    rf"(?:(?:an?|the|any|recent|latest)\s+)?(?P<type>{_TYPE})(?:\s+(?:{_ABOUT}))?\s+(?P<topic>(?P<beside>\S+).*)",
    re.IGNORECASE,
)
_LAST = re.compile(rf"(?P<topic>(?:.*?\s)??(?P<beside>\S+)),?\s+(?P<type>{_TYPE})", re.IGNORECASE)
_OTHER_NAMES = {
    "rct": "randomizedcontrolledtrial",
    "randomizedtrial": "randomizedcontrolledtrial",
    "randomizedclinicaltrial": "randomizedcontrolledtrial",
    "randomizedcontrolledclinicaltrial": "randomizedcontrolledtrial",
    "controlledtrial": "controlledclinicaltrial",
    "trial": "clinicaltrial",
    "guideline": "practiceguideline",
}
"""Names of types that people type, by those that databases use."""


def recognise(index: Index, meaning: Meaning, where: Filter | None) -> Meaning:
    """Find the author, the venue, the years and the type of publication that a query without identifiers names.

    All papers must match `where`, a filter of exact comparisons. Returns the topic, and preferences for the papers to
    rank first; the same meaning if the query names nothing. Without a topic, an author's papers are looked up, and all
    other papers are left to a listing.
    """
    found = read_numbers(index, meaning)
    found = _with_years(index, found) if found.topic else found
    if found.topic and (both := _compared(found.topic, index.schema.language)):
        found = replace(found, preferences=(*found.preferences, both))
    elif found.topic and (kind := preferred_type(index, found.topic)):
        found = replace(found, topic=kind[1], preferences=(*found.preferences, kind[0]))
    return found if found.topic or found.papers else _listed(index, found, where, meaning.topic)


def _compared(query: str, language: str) -> Preference | None:
    """Return the preference for papers that say all words on both sides of a "vs"; None if the query has none.

    Without it, papers that say the rarer side alone would come before those that compare.
    """
    words = query.split()
    found = _AGAINST.fullmatch(" ".join(words).rstrip(" ?.")) if len(words) <= MOST_COMPARED else None
    if not found:
        return None
    sides = [[word for word in side.split() if any(terms_of(word, language))] for side in found.group("one", "other")]
    if not all(sides):
        return None
    where = And(tuple(Says("text", word) for side in sides for word in side))
    return Preference("compared", where, f"with both {found['one']} and {found['other']}")


def preferred_type(index: Index, query: str) -> tuple[Preference, str] | None:
    """Return the type of publication that a query names at its beginning or end, and the other words.

    The preference is for papers that have the type or say it in their title, since databases add types late. Returns
    None where no paper has the type, or it is a term with the word beside it ("peer review", "review process").
    """
    words = " ".join(query.split()).rstrip(" ?.")
    if words.count(" ") >= MOST_TYPED:
        return None
    found = _FIRST.fullmatch(words) or _LAST.fullmatch(words)
    if not found:
        return None
    typed, beside = found["type"], found["beside"]
    wanted = _key(typed)
    names = dict.fromkeys((wanted, _OTHER_NAMES.get(wanted, wanted), *(["review"] if "review" in wanted else [])))
    held = index.matching_values({"types": [f"[{name[0]}{name[0].upper()}]{ANYTHING}" for name in names]})["types"]
    types = next((same for name in names if (same := [one for one in held if _key(one) == name])), [])
    pair = (typed, beside) if found.re is _FIRST else (beside, typed)
    about = re.match(rf".*{re.escape(typed)}\s+(?:{_ABOUT})\s", words, re.IGNORECASE)
    if not types or (not about and is_term(index, *pair)):
        return None
    where = Or((OneOf("types", tuple(types)), Says("title", typed)))
    return Preference("type", where, f"of the type {' or '.join(sorted(types))}"), found["topic"].strip(" ,;:")


def _key(text: str) -> str:
    """Return the letters of a type in the singular and in American spelling."""
    letters = re.sub(r"[\W_]", "", text.lower()).replace("analyses", "analysis").replace("studies", "study")
    letters = letters.replace("randomis", "randomiz")
    return letters if letters.endswith("sis") else letters.removesuffix("s")


def _with_years(index: Index, meaning: Meaning) -> Meaning:
    """Find years, and an author or a venue."""
    read = read_years(meaning.topic)
    if read and read.sure:
        named = _named(index, replace(meaning, topic=read.topic)) if read.topic else replace(meaning, topic="")
        return replace(named, preferences=(*named.preferences, read.preference))
    named = _named(index, meaning)
    if not read or named.preferences != meaning.preferences or named.topic != meaning.topic:
        return named
    if read.term and is_term(index, *read.term):
        return named
    if not has_papers(index, read.preference):
        return replace(named, notes=(*named.notes, f"No paper of this index is {read.preference.description}."))
    return replace(named, topic=read.topic, preferences=(*meaning.preferences, read.preference))


def _named(index: Index, meaning: Meaning) -> Meaning:
    """Find a venue or else an author, and a bare year beside it."""
    year, rest = year_at_an_end(meaning.topic) or (None, meaning.topic)
    venue = read_venue(index, rest, meaning.topic)
    if venue and venue.preference:
        named = replace(meaning, topic=venue.topic, preferences=(*meaning.preferences, venue.preference))
        return _dated(named, year)
    whole = recognise_author(index, meaning)
    if whole.preferences != meaning.preferences:
        return _dated(whole, None)
    if year and rest:
        found = recognise_author(index, replace(meaning, topic=rest))
        if found.preferences != meaning.preferences:
            return _dated(found, year)
    return replace(whole, notes=(*whole.notes, venue.note)) if venue and venue.note else whole


def _dated(meaning: Meaning, year: Preference | None) -> Meaning:
    """Add a preference for a year: the given one, or else that at an end of the topic."""
    topic = meaning.topic
    if year is None:
        year, topic = year_at_an_end(topic) or (None, topic)
    return replace(meaning, topic=topic, preferences=(*meaning.preferences, year)) if year else meaning


def _listed(index: Index, meaning: Meaning, where: Filter | None, typed: str) -> Meaning:
    """Find the papers of a query that is nothing but preferences; without any paper, its words are searched."""
    wanted, notes = meaning.preferences, meaning.notes
    while wanted:
        match = all_of(where, *(one.filter for one in wanted))
        if wanted[0].kind == "author" and (papers := _newest(index, match)):
            known_by = dict.fromkeys(papers, "author")
            notes = (*notes, f"Papers {described(wanted)}, the latest first.")
            return replace(meaning, papers=papers, known_by=known_by, preferences=(), notes=notes)
        if wanted[0].kind != "author" and index.listed(match, NEWEST_FIRST, 1).matches:
            return replace(
                meaning, preferences=wanted, notes=(*notes, f"Papers {described(wanted)}, the latest first.")
            )
        within = " that passes the filter" if where else ""
        notes = (*notes, f"No paper of this index{within} is {described(wanted)}.")
        wanted = wanted[:-1]
    # A year without papers may be a number; all else that a query names is in the index, but a filter may exclude it.
    number = bool(meaning.preferences) and meaning.preferences[0].kind == "year"
    return replace(meaning, topic=typed if number else "", preferences=(), notes=notes)


def _newest(index: Index, where: Filter | None) -> dict[str, Paper]:
    papers = index.papers(list(islice(index.ids(where), MOST_PAPERS))).values()
    return {paper.id: paper for paper in sorted(papers, key=lambda paper: (-(paper.year or 0), paper.id))}
