"""Rank the papers found again, by a method too expensive for all papers."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from search_plugin.ranking.rerankers.registry import get_reranker

if TYPE_CHECKING:
    from search_plugin.ranking.stages.state import SearchState


def rerank(state: SearchState) -> SearchState:
    """Rank by the request's reranker, if it names one."""
    if not (state.request.rerank and state.ranking):
        return state
    ranking = get_reranker(state.request.rerank)(state)
    return replace(state, ranking=ranking, shown=ranking)
