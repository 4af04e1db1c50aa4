"""Read the papers of the page and count its facets, in one request; and mark the query's words."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from search_plugin.highlights import highlight
from search_plugin.page import Hit
from search_plugin.plan import Counting

if TYPE_CHECKING:
    from search_plugin.stages.state import SearchState

FACET_SIZE = 10


def render(state: SearchState) -> SearchState:
    """Make the page's hits and facets."""
    request = state.request
    page = state.shown[request.offset : request.offset + request.size]
    fields = {name: state.index.schema.field(name).name for name in request.facets}
    counting = None
    if fields:
        found = [hit.id for hit in state.ranking]
        counting = Counting(state.plan, found, list(dict.fromkeys(fields.values())), FACET_SIZE)
    read, facets = state.index.fetch([hit.id for hit in page if hit.id not in state.papers], counting)
    if facets:
        counted = facets.counted if state.plan.legs or state.plan.order else "the papers found"
        facets = replace(facets, counted=counted, counts={name: facets.counts[field] for name, field in fields.items()})
    papers = {**state.papers, **read}
    marked = " ".join([request.searched, *(other.text for notion in state.plan.notions for other in notion.others)])
    hits = tuple(
        Hit(
            rank=request.offset + position,
            paper=papers[hit.id],
            score=hit.score,
            legs=hit.contributions,
            snippets=highlight(marked, papers[hit.id].title, papers[hit.id].abstract, state.index.schema.language),
            collapsed=state.hidden.get(hit.id, 0),
            known_by=state.known.by.get(hit.id, ""),
        )
        for position, hit in enumerate(page, start=1)
        if hit.id in papers  # deleted since the legs ran
    )
    return replace(state, papers=papers, hits=hits, facets=facets)
