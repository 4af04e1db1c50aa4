"""Say where hits match weakly, and where the index does not know the query's script."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from search_plugin.pages.occurrences import share_of_words
from search_plugin.ranking.weakness import FLOORS, unknown_script

if TYPE_CHECKING:
    from search_plugin.pages.page import Hit
    from search_plugin.ranking.stages.state import SearchState

NOTHING_MATCHES = "Nothing matches well; the nearest papers follow."


def warn(state: SearchState) -> SearchState:
    """Mark the hits below the floor of the index's model, and add notes."""
    query, schema = state.request.searched, state.index.schema
    notes = list(state.notes)
    if unknown_script(query, schema.language):
        notes.append(
            f"Most of the query is in a script that this index does not know: it analyses words as {schema.language}."
        )
    hits = state.hits
    floor = FLOORS.get(schema.fingerprint)
    if floor and state.plan.vectors and state.legs:
        hits = tuple(
            hit if hit.known_by else replace(hit, weak=floor.strength(*signals(hit, state)) < floor.least)
            for hit in hits
        )
        if hits and not state.request.offset and all(hit.weak for hit in hits):
            notes.append(NOTHING_MATCHES)
    return replace(state, hits=hits, notes=tuple(notes))


def signals(hit: Hit, state: SearchState) -> tuple[float, float]:
    """Return a hit's similarity to the query, and the share of the query's words that it holds."""
    leg = state.plan.vectors[0].field
    found = hit.legs.get(leg)
    # A paper that the leg did not find is no nearer than the last one that it found.
    last = state.legs[leg][-1].score if state.legs[leg] else 0.0
    language, notions = state.index.schema.language, state.plan.notions
    share = share_of_words(state.topic, state.held[hit.id], language, notions)
    return (found.raw if found else last), share
