"""Join the legs into one ranking."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from search_plugin.fusion.registry import fusion_of

if TYPE_CHECKING:
    from search_plugin.ranking.stages.state import SearchState


def fuse(state: SearchState) -> SearchState:
    """Join the legs by the request's fusion, unless the engine has joined them, or there are none."""
    if state.joined_by == "engine" or not state.plan.legs:
        return state
    ranking = fusion_of(state.request.fusion)(state.legs, state.request.weights)
    return replace(state, ranking=ranking, shown=ranking)
