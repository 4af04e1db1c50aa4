"""Put what the query names first: papers by identifier or title, those of an author, a venue, a year or a type."""

from __future__ import annotations

import unicodedata
from dataclasses import replace
from typing import TYPE_CHECKING

from search_plugin.contract.legs import Fused
from search_plugin.contract.tree import all_of
from search_plugin.fusion.registry import fusion_of
from search_plugin.understanding.known import told
from search_plugin.words.terms import SPACED

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from search_plugin.contract.legs import Scored
    from search_plugin.ranking.stages.state import SearchState
    from search_plugin.understanding.known import Preference

TITLE = "title"
"""How a paper is known of which the query is the whole title."""

_DEPTH, _LEG_DEPTH = 10, 3
"""Papers of the whole ranking and of each leg whose titles are compared with the query: a page reads most of them."""

NEAR = 0.5
"""Share of the best paper's score in a leg that a preferred paper needs to come first."""

_THE_SAME = {
    "author": "by this author",
    "venue": "in this venue",
    "number": "with this number",
    "year": "from that time",
}
"""Papers of the first preference alone, of several."""

_FEWEST_WORDS = 3
"""Words of a query that can be a title; shorter ones are topics."""


def known(state: SearchState) -> SearchState:
    """Move the papers that the query names to the top of the ranking."""
    by: dict[str, str] = {}
    if state.known.preferences and state.plan.legs:
        state, by = _with_preferences(state)
    if state.known.topic:
        state = _with_title(state)
    first = state.known.by
    if first:
        scored = {hit.id: hit for hit in state.ranking}
        named = [scored.get(id_) or Fused(id_, 0.0, {}) for id_ in first]
        ranking = [*named, *(hit for hit in state.ranking if hit.id not in first)]
        papers = {**state.papers, **state.known.papers}
        column = state.plan.column
        values = {id_: paper.value(column) for id_, paper in state.known.papers.items()} if column else {}
        state = replace(state, ranking=ranking, shown=ranking, papers=papers, values={**state.values, **values})
    return replace(state, known=replace(state.known, by={**by, **first})) if by else state


def _with_preferences(state: SearchState) -> tuple[SearchState, dict[str, str]]:
    """Rank papers that the query prefers before all others: those with all that it names, then those with the first.

    An author's papers come first whatever they are about. Of others, only papers that match the topic do: at least half
    as well as the best paper does, in one of the legs.

    Args:
        state: After the legs were joined.

    Returns:
        The state, and by id how papers of an author are known.
    """
    wanted, index = state.known.preferences, state.index
    first: dict[str, Fused] = {}
    by: dict[str, str] = {}
    values: dict[str, object] = {}
    found: list[int] = []
    for some in dict.fromkeys((wanted, wanted[:1])):
        legs = index.search(replace(state.plan, filter=all_of(state.plan.filter, *(one.filter for one in some))))
        values |= {hit.id: hit.value for hits in legs.values() for hit in hits} if state.plan.column else {}
        fused = fusion_of(state.request.fusion)(legs, state.request.weights)
        if some[0].kind == "author":
            by |= {hit.id: "author" for hit in fused}
        else:
            near = _near(legs, state.legs)
            fused = [hit for hit in fused if hit.id in near]
        found.append(len(fused))
        first = {**first, **{hit.id: hit for hit in fused if hit.id not in first}}
    ranking = [*first.values(), *(hit for hit in state.ranking if hit.id not in first)]
    said = _what_comes_first(wanted, found) if not state.request.sort else (_not_first(wanted),)
    notes = (*said, *state.notes)
    return replace(state, ranking=ranking, shown=ranking, values={**state.values, **values}, notes=notes), by


def _near(legs: Mapping[str, Sequence[Scored]], others: Mapping[str, Sequence[Scored]]) -> set[str]:
    """Return the papers of some legs that one of these scores at least half as high as the best paper of all."""
    near: set[str] = set()
    for leg, hits in legs.items():
        best = max((hit.score for hit in (*hits[:1], *others.get(leg, ())[:1])), default=0.0)
        near |= {hit.id for hit in hits if hit.score >= NEAR * best}
    return near


def _what_comes_first(wanted: Sequence[Preference], found: Sequence[int]) -> Iterator[str]:
    none = f"No paper {told(wanted)} matches the other words well"
    if found[0]:
        yield f"Papers {told(wanted)} come first."
    elif found[-1]:
        yield f"{none}; other papers {_THE_SAME[wanted[0].kind]} come first."
    elif wanted[0].kind != "compared":  # which names nothing but words
        yield f"{none}."


def _not_first(wanted: Sequence[Preference]) -> str:
    return f"Papers {told(wanted)} do not come first, since the page is sorted."


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
