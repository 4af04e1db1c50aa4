"""The stage that moves the query's vector towards the papers that rank first by words (Rocchio 1971, positive part).

The vector of the query becomes `q + w mean(d)` over the best five papers by words: their vectors are in the index, so
nothing is encoded. Then the vector leg runs again. Words find papers that say the same, and their vectors find those
that mean the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from corpora.lazy import np
from search_plugin.contract.plan import LEXICAL
from search_plugin.ranking.state import SearchState

FIRST_PAPERS = 5
"""Papers by words whose vectors count."""

NO_FEEDBACK = "Feedback counts in a search by words and vectors that ses itself joins, and this is another one."


def feed_back(state: SearchState) -> SearchState:
    """Search the first vector leg again by the moved vector, if the request says so."""
    weight, field = state.request.feedback, state.index.schema.legs[0] if state.index.schema.legs else ""
    clause = next((one for one in state.plan.vectors if one.field == field), None)
    if not weight or not state.plan.legs:
        return state
    if clause is None or not state.legs.get(LEXICAL):
        return state if state.legs.get(field) else replace(state, notes=(*state.notes, NO_FEEDBACK))
    first = [hit.id for hit in state.legs[LEXICAL][:FIRST_PAPERS]]
    moved = replace(clause, vector=moved_vector(clause.vector, state.index.vectors(first, field), weight))
    vectors = tuple(moved if one is clause else one for one in state.plan.vectors)
    again = replace(state.plan, words="", vectors=(moved,))
    found = state.index.search(again)
    values = {hit.id: hit.value for hit in found[field]} if again.column else {}
    return replace(
        state,
        plan=replace(state.plan, vectors=vectors),
        legs={**state.legs, **found},
        values={**state.values, **values},
    )


def moved_vector(query: np.ndarray, papers: Mapping[str, np.ndarray], weight: float) -> np.ndarray:
    """Return a query's vector, moved towards papers by a weight, float32 (dimension,), of the query's length.

    Papers are float32 (dimension,) by id, or (passages, dimension); each counts by its direction.

    >>> import numpy as np
    >>> moved_vector(np.array([1.0, 0.0]), {"a": np.array([0.0, 2.0]), "b": np.array([0.0, 1.0])}, 1.0).round(3)
    array([0.707, 0.707], dtype=float32)
    """
    rows = [row.mean(axis=0) if row.ndim > 1 else row for row in papers.values()]
    units = [row / length for row in rows if (length := float(np.linalg.norm(row))) > 0]
    size = float(np.linalg.norm(query))
    if not units or not size:
        return query
    moved = query / size + weight * np.mean(units, axis=0)
    return np.asarray(moved * (size / (float(np.linalg.norm(moved)) or 1.0)), np.float32)
