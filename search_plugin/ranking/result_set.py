"""The stages that decide which papers a search found: the same set on every page, in counts, and for a cursor.

The set has two parts. Papers that hold a word of the query, or are named by it, are counted exactly. Beside them are
papers near in meaning: those that the vector legs found in their window, down to the floor of a model that has one
(`search_plugin.ranking.weakness`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from search_plugin.contract.legs import BY_ID, NEWEST_FIRST, Fused, Scored
from search_plugin.contract.plan import LEXICAL, Counting
from search_plugin.contract.tree import OneOf, all_of
from search_plugin.ranking.state import SearchState
from search_plugin.ranking.weakness import threshold_of
from search_plugin.request import MAX_WINDOW, SAME_WORK

NEAREST_FEW = 5
"""Papers that are shown where nothing was found: those nearest in meaning, marked as weak."""


def legs_found(state: SearchState) -> Mapping[str, Sequence[Scored]]:
    """Return the legs of a search.

    What narrows a search takes papers away and brings no others: vector legs look for papers without it.
    """
    index, plan, request = state.index, state.plan, state.request
    if request.narrow is None:
        return _nearest(index.search(plan), request.near)
    near = _nearest(index.search(replace(plan, words="")), request.near)
    ids = tuple(dict.fromkeys(hit.id for hits in near.values() for hit in hits))
    narrowed = all_of(OneOf("id", ids), request.narrow)
    kept = set(index.listed(narrowed, BY_ID, len(ids)).ids) if ids else set()
    where = all_of(plan.filter, request.narrow)
    words = index.search(replace(plan, vectors=(), filter=where)) if plan.words else {}
    return {**words, **{leg: [hit for hit in hits if hit.id in kept] for leg, hits in near.items()}}


def _nearest(legs: Mapping[str, Sequence[Scored]], most: int | None) -> Mapping[str, Sequence[Scored]]:
    if most is None:
        return legs
    return {leg: hits if leg == LEXICAL else hits[:most] for leg, hits in legs.items()}


def settle(state: SearchState) -> SearchState:
    """Split the papers found into those that match by words or by name, and those near in meaning.

    Papers below the floor that hold no word of the query are left out; if nothing is left, the nearest few are shown.
    """
    if state.plan.order or not state.legs or state.request.whole:
        return state
    named, leg = set(state.meaning.known_by), state.legs.get(LEXICAL)
    if leg is None:
        near = tuple(hit.id for hit in state.ranking if hit.id not in named)
        return replace(state, near=near, by_words=len(named) if named else None)
    said = {hit.id for hit in leg}
    full = len(said) >= state.request.window
    others = tuple(hit.id for hit in state.ranking if hit.id not in said)
    if full and others:
        among = replace(state.plan, vectors=(), filter=all_of(OneOf("id", others), state.plan.filter), column="")
        said |= {hit.id for hit in state.index.search(replace(among, window=len(others)))[LEXICAL]}
    wordless = [hit.id for hit in state.ranking if hit.id not in said and hit.id not in named]
    near = tuple(_above_floor(state, wordless))
    left_out = set(wordless) - set(near)
    if not said and not named and wordless and not near:
        few = state.ranking[:NEAREST_FEW]
        return replace(state, ranking=few, shown=few, by_words=0)
    named -= said
    return replace(
        state,
        ranking=[hit for hit in state.ranking if hit.id not in left_out],
        shown=[hit for hit in state.shown if hit.id not in left_out],
        near=near,
        named=tuple(named),
        by_words=None if full else len(said) + len(named),
    )


def _above_floor(state: SearchState, ids: Sequence[str]) -> list[str]:
    """Return the papers that are near enough: all, unless their model has a floor."""
    judged = threshold_of(state)
    if judged is None:
        return list(ids)
    leg, threshold = judged
    scores = {hit.id: hit.score for hit in state.legs[leg]}
    # A paper that the leg did not find is no nearer than the last one that it found.
    last = min(scores.values(), default=0.0)
    return [id_ for id_ in ids if scores.get(id_, last) >= threshold.least]


def goes_on(state: SearchState) -> bool:
    """Return whether papers match beside those ranked, and can be shown after them."""
    request = state.request
    if state.plan.order or request.sort is not None or request.collapse not in ("", SAME_WORK):
        return False
    return request.whole or (bool(state.legs.get(LEXICAL)) and state.by_words is None)


def continued(state: SearchState) -> SearchState:
    """Show further papers after those ranked, for a page behind them: by the score of their words, or the newest."""
    end = state.request.offset + state.request.size
    if end <= len(state.shown) or not goes_on(state):
        return state
    ranked = {hit.id for hit in state.ranking}
    most = min(MAX_WINDOW, end + len(ranked))
    if state.request.whole:
        rest = [Fused(id_, 0.0, {}) for id_ in state.index.listed(state.plan.filter, NEWEST_FIRST, most).ids]
    else:
        found = state.index.search(replace(state.plan, vectors=(), window=most, column=""))[LEXICAL]
        given = {LEXICAL: {hit.id: (rank, hit.score, 0.0) for rank, hit in enumerate(found, 1)}}
        rest = [Fused(hit.id, 0.0, given) for hit in found]
    return replace(state, shown=[*state.shown, *(hit for hit in rest if hit.id not in ranked)])


def counting_of(state: SearchState, fields: Sequence[str]) -> Counting | None:
    """Return what to count of a search: values of fields, and the papers that match if that is not known yet."""
    request, plan = state.request, state.plan
    if request.whole:
        return Counting(replace(plan, words="", vectors=(), order=BY_ID), (), fields, request.facet_size)
    unknown = bool(state.legs.get(LEXICAL)) and state.by_words is None
    if not fields and not unknown:
        return None
    found = [*state.near, *state.named] if unknown else [hit.id for hit in state.ranking]
    return Counting(plan, found, fields, request.facet_size)


def matches_of(state: SearchState, counted: int | None) -> int | None:
    """Return how many papers match by words, by name or by a condition; None if no words were searched.

    `counted` is what an engine counted of `counting_of`.
    """
    if state.plan.order:
        return state.total
    if state.request.whole:
        return counted
    if state.by_words is None and state.legs.get(LEXICAL) and counted is not None:
        return counted - len(state.near)
    return state.by_words
