"""Score every paper found by every leg, also by those that did not bring it, and fuse again."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from search_plugin.filters.tree import And, OneOf
from search_plugin.fusion.registry import fusion_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from search_plugin.legs import Fused
    from search_plugin.stages.state import SearchState


def rerank(state: SearchState) -> Sequence[Fused]:
    """Rank the papers found by their scores from all legs.

    A fusion gives a paper nothing for a leg that did not bring it, though the paper may stand just behind the leg's
    window. Here the legs run once more, among the papers found only, and look at whole vectors. So no score is missing
    but those of papers that hold no word of the query.

    Args:
        state: After the legs were joined.

    Returns:
        The same papers, best first, ties by id, each with what every leg gives to it.
    """
    plan, request = state.plan, state.request
    if not plan.vectors:
        return state.ranking  # words alone bring all that holds them, with whole scores
    ids = tuple(hit.id for hit in state.ranking)
    among = OneOf("id", ids)
    where = And((among, plan.filter)) if plan.filter else among
    legs = state.index.search(replace(plan, filter=where, window=len(ids), exact=True))
    return fusion_of(request.fusion)(legs, request.weights)
