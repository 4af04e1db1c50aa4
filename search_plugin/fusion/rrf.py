"""Reciprocal rank fusion."""

from __future__ import annotations

from typing import TYPE_CHECKING

from search_plugin.fusion.combine import check_weights, combine

if TYPE_CHECKING:
    from collections.abc import Mapping

    from search_plugin.contract.legs import Fused
    from search_plugin.fusion.combine import Legs


def fuse(legs: Legs, weights: Mapping[str, float], *, k: int = 60) -> list[Fused]:
    """Rank papers by the weighted sum of `1 / (k + rank)` over the legs that found them.

    Cormack, Clarke and Buettcher, "Reciprocal rank fusion outperforms Condorcet and individual rank learning methods",
    SIGIR 2009, section 2, which has no weights; a weight multiplies its leg's term. Ranks count from 1 by position, so
    the scores themselves and ties among them don't matter.

    Args:
        legs: The hits of each leg, best first.
        weights: Weights by leg name, 1 where none is named.
        k: The rank constant; 60 as in the paper. A larger one gives the first ranks less advantage.

    Returns:
        The papers, best first, ties by id.
    """
    return combine(legs, check_weights(legs, weights), lambda scores: [1 / (k + i) for i in range(1, len(scores) + 1)])
