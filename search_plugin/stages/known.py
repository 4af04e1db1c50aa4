"""Put what the query names first: papers by identifier or title, and the papers of an author."""

from __future__ import annotations

import unicodedata
from dataclasses import replace
from typing import TYPE_CHECKING

from search_plugin.filters.tree import And
from search_plugin.fusion.registry import fusion_of
from search_plugin.legs import Fused
from search_plugin.terms import SPACED

if TYPE_CHECKING:
    from search_plugin.stages.state import SearchState

TITLE = "title"
"""How a paper is known of which the query is the whole title."""

_DEPTH, _LEG_DEPTH = 10, 3
"""Papers of the whole ranking and of each leg whose titles are compared with the query: a page reads most of them."""

_FEWEST_WORDS = 3
"""Words of a query that can be a title; shorter ones are topics."""


def known(state: SearchState) -> SearchState:
    """Move the papers that the query names to the top of the ranking."""
    if state.known.author:
        state = _with_author(state)
    if state.request.searched == state.known.topic:
        state = _with_title(state)
    by = state.known.by
    if not by:
        return state
    scored = {hit.id: hit for hit in state.ranking}
    first = [scored.get(id_) or Fused(id_, 0.0, {}) for id_ in by]
    ranking = [*first, *(hit for hit in state.ranking if hit.id not in by)]
    papers = {**state.papers, **state.known.papers}
    column = state.plan.column
    values = {id_: paper.value(column) for id_, paper in state.known.papers.items()} if column else {}
    return replace(state, ranking=ranking, shown=ranking, papers=papers, values={**state.values, **values})


def _with_author(state: SearchState) -> SearchState:
    """Rank the papers of an author by themselves, before all others."""
    plan, author = state.plan, state.known.author
    where = And((plan.filter, author)) if plan.filter and author else author
    legs = state.index.search(replace(plan, filter=where))
    first = fusion_of(state.request.fusion)(legs, state.request.weights)
    ids = {hit.id for hit in first}
    ranking = [*first, *(hit for hit in state.ranking if hit.id not in ids)]
    values = {hit.id: hit.value for hits in legs.values() for hit in hits} if plan.column else {}
    return replace(state, ranking=ranking, shown=ranking, values={**state.values, **values})


def _with_title(state: SearchState) -> SearchState:
    """Read the best papers, and note those whose title is the query."""
    title = normal_title(state.request.searched)
    if len(state.request.searched.split()) < _FEWEST_WORDS or not title:
        return state
    best = [hit.id for hit in state.ranking[:_DEPTH]]
    for found in state.legs.values():
        best += [hit.id for hit in found[:_LEG_DEPTH]]
    unread = [id_ for id_ in dict.fromkeys(best) if id_ not in state.papers]
    papers = {**state.papers, **(state.index.fetch(unread)[0] if unread else {})}
    same = {id_: TITLE for id_ in best if id_ in papers and normal_title(papers[id_].title) == title}
    return replace(state, papers=papers, known=replace(state.known, by={**state.known.by, **same}))


def normal_title(text: str) -> str:
    """Return a title without what people change when they type it: case, punctuation, blanks, diacritics."""
    if text.isascii():
        return text.translate(SPACED).replace(" ", "")
    plain = unicodedata.normalize("NFKD", text).casefold()
    return "".join(filter(str.isalnum, plain))
