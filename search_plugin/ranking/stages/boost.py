"""Move papers of a higher forecast a little up, if the user wants it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from search_plugin.fusion.boosting import boosted_ids

if TYPE_CHECKING:
    from search_plugin.ranking.stages.state import SearchState


def boost(state: SearchState) -> SearchState:
    """Boost by the request's forecast, if it names one; a listing has no ranks to change."""
    wanted = state.request.boost
    if wanted is None or not state.plan.legs or not state.ranking:
        return state
    found = {hit.id: hit for hit in state.ranking}
    rows = state.index.values(list(found), [wanted.field])
    values = {id_: row[wanted.field] for id_, row in rows.items() if wanted.field in row}
    ranking = [found[id_] for id_ in boosted_ids(list(found), values, wanted.strength)]
    note = (
        f"Papers with a higher forecast ({wanted.field}) are up to {wanted.strength / 2:.0%} of their rank further up; "
        "a forecast repeats past citations and says nothing of quality."
    )
    return replace(state, ranking=ranking, shown=ranking, notes=(*state.notes, note))
