"""Sort the papers found by a field, instead of the best first."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from search_plugin.contract.ordering import sorted_ids

if TYPE_CHECKING:
    from search_plugin.ranking.stages.state import SearchState


def sort(state: SearchState) -> SearchState:
    """Sort by the request's order, if it has one; the engine has sorted a listing already."""
    order = state.request.sort
    if order is None or state.plan.order or not state.shown:
        return state
    found = {hit.id: hit for hit in state.shown}
    rows = state.index.values(list(found), [order.field])
    values = {id_: row[order.field] for id_, row in rows.items() if order.field in row}
    full = not state.legs or any(len(hits) >= state.request.window for hits in state.legs.values())
    more = "; a larger window finds more" if full else ""
    note = f"Only the {len(found):,} papers that the search found are sorted{more}."
    shown = [found[id_] for id_ in sorted_ids(values, found, order)]
    return replace(state, shown=shown, notes=(*state.notes, note))
