"""Score every paper with every leg, also with the legs that did not find it, and fuse again."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from search_plugin.contract.tree import OneOf, all_of
from search_plugin.fusion.registry import fusion_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from search_plugin.contract.legs import Fused
    from search_plugin.ranking.stages.state import SearchState


def rerank(state: SearchState) -> Sequence[Fused]:
    """Rank the papers found by their scores from all legs.

    A fusion gives a paper nothing for a leg that did not find it, though the paper may rank just below the leg's
    window. Here the legs run again over the papers found only, with exact vector scores. So the only missing scores are
    lexical scores of papers without a word of the query.

    Args:
        state: After the legs were joined.

    Returns:
        The same papers, best first, ties by id, each with the contribution of every leg.
    """
    plan, request = state.plan, state.request
    if not plan.vectors:
        return state.ranking  # the lexical leg alone finds every paper with these words, with full scores
    ids = tuple(hit.id for hit in state.ranking)
    among = OneOf("id", ids)
    where = all_of(among, plan.filter)
    legs = state.index.search(replace(plan, filter=where, window=len(ids), exact=True))
    return fusion_of(request.fusion)(legs, request.weights)
