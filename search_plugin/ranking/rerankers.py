"""Rerankers: they reorder the papers found. A new one is a function and one line of `RERANKERS`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from corpora.errors import InputError
from search_plugin.contract.legs import Fused
from search_plugin.contract.tree import OneOf, all_of
from search_plugin.fusion.fusions import fusion_of
from search_plugin.ranking.state import SearchState

Reranker = Callable[[SearchState], Sequence[Fused]]
"""Takes a state after the legs were joined. Returns the papers of its ranking in another order, ties by id."""


def complete(state: SearchState) -> Sequence[Fused]:
    """Score every paper with every leg, also with the legs that did not find it, and fuse again.

    A fusion gives a paper nothing for a leg that did not find it, though the paper may rank just below the leg's
    window. Here the legs run again over the papers found only, with exact vector scores. So the only missing scores are
    lexical scores of papers without a word of the query.
    """
    plan, request = state.plan, state.request
    if not plan.vectors:
        return state.ranking  # the lexical leg alone finds every paper with these words, with full scores
    ids = tuple(hit.id for hit in state.ranking)
    where = all_of(OneOf("id", ids), plan.filter)
    legs = state.index.search(replace(plan, filter=where, window=len(ids), exact=True))
    return fusion_of(request.fusion)(legs, request.weights)


RERANKERS: Mapping[str, Reranker] = {"complete": complete}


def get_reranker(name: str) -> Reranker:
    """Return the reranker of that name, or raise `InputError` that names the available ones."""
    if name not in RERANKERS:
        raise InputError(f"There is no reranker {name!r}; choose one of {', '.join(RERANKERS)}.")
    return RERANKERS[name]
