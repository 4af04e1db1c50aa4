"""Show only the best of the papers that share a value of a field."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from search_plugin.contract.legs import Fused
    from search_plugin.ranking.stages.state import SearchState


def collapse(state: SearchState) -> SearchState:
    """Keep the best of the papers that share a value, and all without one; count how many papers each one hides."""
    column = state.plan.column
    if not column:
        return state
    # A missing boolean means false, which papers can share.
    missing = False if state.index.schema.field(column).kind == "boolean" else None
    best: dict[object, str] = {}
    shown: list[Fused] = []
    hidden: dict[str, int] = {}
    for hit in state.shown:
        value = state.values.get(hit.id)
        value = missing if value is None else value
        if value in best:
            hidden[best[value]] = hidden.get(best[value], 0) + 1
            continue
        shown.append(hit)
        if value not in (None, ""):
            best[value] = hit.id
    return replace(state, shown=shown, hidden=hidden)
