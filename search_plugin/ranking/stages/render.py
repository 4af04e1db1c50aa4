"""Read the papers of the page and count its facets, in one request; and mark the query's words."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from search_plugin.contract.plan import Counting
from search_plugin.pages.highlights import highlight
from search_plugin.pages.occurrences import find
from search_plugin.pages.page import Hit

if TYPE_CHECKING:
    from search_plugin.ranking.stages.state import SearchState

FACET_SIZE = 10


def render(state: SearchState) -> SearchState:
    """Make the page's hits and facets."""
    request = state.request
    page = state.shown[request.offset : request.offset + request.size]
    fields = {name: state.index.schema.field(name).name for name in request.facets}
    counting = None
    if fields:
        ranked = [hit.id for hit in state.ranking]
        counting = Counting(state.plan, ranked, list(dict.fromkeys(fields.values())), FACET_SIZE)
    read, facets = state.index.fetch([hit.id for hit in page if hit.id not in state.papers], counting)
    if facets:
        counted = facets.counted if state.plan.legs or state.plan.order else "the papers found"
        facets = replace(facets, counted=counted, counts={name: facets.counts[field] for name, field in fields.items()})
    papers = {**state.papers, **read}
    marked = " ".join([state.topic, *(other.text for notion in state.plan.notions for other in notion.others)])
    language = state.index.schema.language
    hits: list[Hit] = []
    held: dict[str, frozenset[str]] = {}
    for rank, hit in enumerate(page, request.offset + 1):
        paper = papers.get(hit.id)
        if paper is None:  # deleted since the legs ran
            continue
        found = find(marked, paper.title, paper.abstract, language)
        held[hit.id] = found.terms
        hits.append(
            Hit(
                rank=rank,
                paper=paper,
                score=hit.score,
                legs=hit.contributions,
                snippets=highlight(paper.title, paper.abstract, found),
                collapsed=state.hidden.get(hit.id, 0),
                known_by=state.known.by.get(hit.id, ""),
            )
        )
    return replace(state, papers=papers, hits=tuple(hits), held=held, facets=facets)
