"""The stage that puts first what the query names: papers by identifier or title, an author's, a venue's, a year's."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from search_plugin.contract.legs import Fused, Scored
from search_plugin.contract.tree import all_of
from search_plugin.ranking.state import SearchState
from search_plugin.understanding.meaning import Preference, described
from search_plugin.words.terms import SPACED

TITLE = "title"
"""`known_by` of a paper of which the query is the whole title."""

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


def put_named_first(state: SearchState) -> SearchState:
    """Move the papers that the query names to the top of the ranking."""
    authored: set[str] = set()
    if state.meaning.preferences and state.plan.legs:
        state, authored = _with_preferences(state)
    if state.meaning.topic:
        state = _with_title(state)
    first = state.meaning.known_by
    if first:
        scored = {hit.id: hit for hit in state.ranking}
        named = [scored.get(id_) or Fused(id_, 0.0, {}) for id_ in first]
        ranking = [*named, *(hit for hit in state.ranking if hit.id not in first)]
        papers = {**state.papers, **state.meaning.papers}
        column = state.plan.column
        values = {id_: paper.value(column) for id_, paper in state.meaning.papers.items()} if column else {}
        state = replace(state, ranking=ranking, shown=ranking, papers=papers, values={**state.values, **values})
    return _known_by(state, {**dict.fromkeys(authored, "author"), **first}) if authored else state


def _known_by(state: SearchState, known_by: Mapping[str, str]) -> SearchState:
    return replace(state, meaning=replace(state.meaning, known_by=known_by))


def _with_preferences(state: SearchState) -> tuple[SearchState, set[str]]:
    """Rank papers that the query prefers before all others: those with all that it names, then those with the first.

    An author's papers come first whatever they are about. Of others, only papers that match the topic do: at least half
    as well as the best paper does, in one of the legs. Returns the state after that, and the ids of an author's papers.
    """
    preferences = state.meaning.preferences
    first: dict[str, Fused] = {}
    authored: set[str] = set()
    values = dict(state.values)
    counts: list[int] = []
    for wanted in dict.fromkeys((preferences, preferences[:1])):
        where = all_of(state.plan.filter, *(preference.filter for preference in wanted))
        legs = state.index.search(replace(state.plan, filter=where))
        if state.plan.column:
            values |= {hit.id: hit.value for hits in legs.values() for hit in hits}
        fused = state.joined(legs)
        if wanted[0].kind == "author":
            authored |= {hit.id for hit in fused}
        else:
            near = _near(legs, state.legs)
            fused = [hit for hit in fused if hit.id in near]
        counts.append(len(fused))
        first |= {hit.id: hit for hit in fused if hit.id not in first}
    ranking = [*first.values(), *(hit for hit in state.ranking if hit.id not in first)]
    if state.request.sort:
        notes = [f"Papers {described(preferences)} do not come first, since the page is sorted."]
    else:
        notes = list(_what_comes_first(preferences, counts))
    return replace(state, ranking=ranking, shown=ranking, values=values, notes=(*notes, *state.notes)), authored


def _near(legs: Mapping[str, Sequence[Scored]], others: Mapping[str, Sequence[Scored]]) -> set[str]:
    """Return the papers of some legs that one of these scores at least half as high as the best paper of all."""
    near: set[str] = set()
    for leg, hits in legs.items():
        best = max((hit.score for hit in (*hits[:1], *others.get(leg, ())[:1])), default=0.0)
        near |= {hit.id for hit in hits if hit.score >= NEAR * best}
    return near


def _what_comes_first(preferences: Sequence[Preference], counts: Sequence[int]) -> Iterator[str]:
    none = f"No paper {described(preferences)} matches the other words well"
    if counts[0]:
        yield f"Papers {described(preferences)} come first."
    elif counts[-1]:
        yield f"{none}; other papers {_THE_SAME[preferences[0].kind]} come first."
    elif preferences[0].kind != "compared":  # which names nothing but words
        yield f"{none}."


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
    return _known_by(replace(state, papers=papers), {**state.meaning.known_by, **same})


def normal_title(text: str) -> str:
    """Return a title without what people change when they type it: case, punctuation, blanks, diacritics."""
    if text.isascii():
        return text.translate(SPACED).replace(" ", "")
    plain = unicodedata.normalize("NFKD", text).casefold()
    return "".join(filter(str.isalnum, plain))
