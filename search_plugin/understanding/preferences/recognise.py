"""What a query names beside its topic, looked up in the index before anything is ranked."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

from search_plugin.contract.ordering import NEWEST_FIRST
from search_plugin.contract.tree import all_of
from search_plugin.understanding.author_queries import recognise_author
from search_plugin.understanding.known import told
from search_plugin.understanding.preferences.comparisons import compared
from search_plugin.understanding.preferences.frequency import has_papers, is_term
from search_plugin.understanding.preferences.numbers import read_numbers
from search_plugin.understanding.preferences.types import preferred_type
from search_plugin.understanding.preferences.venues import read_venue
from search_plugin.understanding.preferences.years import read_years, year_at_an_end

if TYPE_CHECKING:
    from corpora.paper import Paper
    from search_plugin.contract.engine import Index
    from search_plugin.contract.tree import Filter
    from search_plugin.understanding.known import Known, Preference

MOST_PAPERS = 1_000
"""Papers of an author that are listed without a topic."""


def recognise(index: Index, known: Known, where: Filter | None) -> Known:
    """Find the author, the venue, the years and the type of publication that a query names.

    Args:
        index: Of any engine.
        known: The query, without identifiers.
        where: Filter of exact comparisons that all papers must match.

    Returns:
        The topic, and preferences for the papers to rank first; the same if the query names nothing. Without a topic,
        an author's papers are looked up, and all other papers are left to a listing.
    """
    found = read_numbers(index, known)
    found = _with_years(index, found) if found.topic else found
    if found.topic and (both := compared(found.topic, index.schema.language)):
        found = replace(found, preferences=(*found.preferences, both))
    elif found.topic and (kind := preferred_type(index, found.topic)):
        found = replace(found, topic=kind[1], preferences=(*found.preferences, kind[0]))
    return found if found.topic or found.papers else _listed(index, found, where, known.topic)


def _with_years(index: Index, known: Known) -> Known:
    """Find years, and an author or a venue."""
    read = read_years(known.topic)
    if read and read.sure:
        named = _named(index, replace(known, topic=read.topic)) if read.topic else replace(known, topic="")
        return replace(named, preferences=(*named.preferences, read.preference))
    named = _named(index, known)
    if not read or named.preferences != known.preferences or named.topic != known.topic:
        return named
    if read.term and is_term(index, *read.term):
        return named
    if not has_papers(index, read.preference):
        return replace(named, notes=(*named.notes, f"No paper of this index is {read.preference.told}."))
    return replace(named, topic=read.topic, preferences=(*known.preferences, read.preference))


def _named(index: Index, known: Known) -> Known:
    """Find a venue or else an author, and a bare year beside it."""
    year, rest = year_at_an_end(known.topic) or (None, known.topic)
    venue = read_venue(index, rest, known.topic) if rest else None
    if venue and venue.preference:
        named = replace(known, topic=venue.topic, preferences=(*known.preferences, venue.preference))
        return _dated(named, year)
    whole = recognise_author(index, known)
    if whole.preferences != known.preferences:
        return _dated(whole, None)
    if year and rest:
        found = recognise_author(index, replace(known, topic=rest))
        if found.preferences != known.preferences:
            return _dated(found, year)
    return replace(whole, notes=(*whole.notes, venue.note)) if venue and venue.note else whole


def _dated(known: Known, year: Preference | None) -> Known:
    """Add a preference for a year: the given one, or else that at an end of the topic."""
    topic = known.topic
    if year is None:
        year, topic = year_at_an_end(topic) or (None, topic)
    return replace(known, topic=topic, preferences=(*known.preferences, year)) if year else known


def _listed(index: Index, known: Known, where: Filter | None, typed: str) -> Known:
    """Find the papers of a query that is nothing but preferences; without any paper, its words are searched."""
    wanted, notes = known.preferences, known.notes
    while wanted:
        match = all_of(where, *(one.filter for one in wanted))
        if wanted[0].kind == "author" and (papers := _newest(index, match)):
            by = dict.fromkeys(papers, "author")
            notes = (*notes, f"Papers {told(wanted)}, the latest first.")
            return replace(known, papers=papers, by=by, preferences=(), notes=notes)
        if wanted[0].kind != "author" and index.listed(match, NEWEST_FIRST, 1).matches:
            return replace(known, preferences=wanted, notes=(*notes, f"Papers {told(wanted)}, the latest first."))
        within = " that passes the filter" if where else ""
        notes = (*notes, f"No paper of this index{within} is {told(wanted)}.")
        wanted = wanted[:-1]
    # A year without papers may be a number; all else that a query names is in the index, but a filter may exclude it.
    number = bool(known.preferences) and known.preferences[0].kind == "year"
    return replace(known, topic=typed if number else "", preferences=(), notes=notes)


def _newest(index: Index, where: Filter | None) -> dict[str, Paper]:
    papers = index.papers(list(islice(index.ids(where), MOST_PAPERS))).values()
    return {paper.id: paper for paper in sorted(papers, key=lambda paper: (-(paper.year or 0), paper.id))}
