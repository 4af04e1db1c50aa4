"""Weighted min-max fusion, the default."""

from __future__ import annotations

from typing import TYPE_CHECKING

from search_plugin.fusion.combine import combine, shares

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from search_plugin.contract.legs import Fused
    from search_plugin.fusion.combine import Legs


def fuse(legs: Legs, weights: Mapping[str, float], *, floor: float = 0.0) -> list[Fused]:
    """Rank papers by the weighted mean of their scores, each leg's scaled to 0..1 over the hits it brought back.

    A score s becomes `(s - min) / (max - min)`, or 1 for each hit of a leg whose scores are all equal; a paper that a
    leg did not find gets 0 from it. Weights are divided by their sum.

    OpenSearch's `normalization-processor` (`min_max` with `arithmetic_mean`) differs in one point: it lifts a leg's
    last hit from 0 to 0.001, so that being found last is worth more than not being found. `floor=0.001` equals it.

    Args:
        legs: The hits of each leg, best first.
        weights: Weights by leg name, 1 where none is named.
        floor: What the worst hit of a leg gets in place of 0.

    Returns:
        The papers, best first, ties by id.
    """

    def scaled(scores: Sequence[float]) -> list[float]:
        low, high = min(scores, default=0.0), max(scores, default=0.0)
        if low == high:
            return [1.0] * len(scores)
        return [(score - low) / (high - low) or floor for score in scores]

    return combine(legs, shares(legs, weights), scaled)
