"""Run all legs in one request; if the user wants it, let the engine join them too. Without words, list papers."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from search_plugin.contract.legs import Fused

if TYPE_CHECKING:
    from search_plugin.ranking.stages.state import SearchState


def retrieve(state: SearchState) -> SearchState:
    """Find papers by every leg of the plan; in a listing, those that match its filter."""
    index, plan, request = state.index, state.plan, state.request
    if plan.order:
        listing = index.listed(plan.filter, plan.order, request.offset + request.size)
        listed = [Fused(id_, 0.0, {}) for id_ in listing.ids]
        return replace(state, ranking=listed, shown=listed, total=listing.matches)
    if request.join == "engine" and len(plan.legs) > 1:
        joined = index.rank(plan, request.fusion, request.weights)
        if joined is not None:
            return replace(
                state, ranking=joined.fused, shown=joined.fused, values=joined.values, joined_by=request.join
            )
    legs = index.search(plan)
    values = {hit.id: hit.value for found in legs.values() for hit in found} if plan.column else {}
    return replace(state, legs=legs, values=values)
