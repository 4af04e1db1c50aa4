"""Weighted z-score fusion."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from search_plugin.fusion.combine import combine, shares

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from search_plugin.contract.legs import Fused
    from search_plugin.fusion.combine import Legs


def fuse(legs: Legs, weights: Mapping[str, float], *, floor: float = 0.001) -> list[Fused]:
    """Rank papers by the weighted mean of their z-scores `(s - mean) / deviation` over the hits each leg brought back.

    As in OpenSearch's `normalization-processor` (`z_score`, from 3.0), z-scores at or below the mean are lifted to a
    floor and a paper that a leg did not find gets 0 from it: a hit below the mean gets a little, never a negative
    value. So a leg ranks only the papers above its own mean. Weights are divided by their sum.

    It differs from OpenSearch in three points. The deviation is the population's (OpenSearch divides by n - 1). A leg
    whose scores are all equal, one hit among them, has z-scores of 0 (OpenSearch passes the raw score through). And
    z-scores between 0 and the floor are lifted too, so that a better score never gets less.

    Args:
        legs: The hits of each leg, best first.
        weights: Weights by leg name, 1 where none is named.
        floor: The least a found paper gets from a leg, before its weight.

    Returns:
        The papers, best first, ties by id.
    """

    def standardized(scores: Sequence[float]) -> list[float]:
        # Tested on the scores, not on their deviation, which rounding can leave just above 0.
        if len(set(scores)) <= 1:
            return [floor] * len(scores)
        mean = math.fsum(scores) / len(scores)
        # The deviation times sqrt(n), by hypot because squares of tiny differences would underflow.
        spread = math.hypot(*(score - mean for score in scores))
        return [max((score - mean) * math.sqrt(len(scores)) / spread, floor) for score in scores]

    return combine(legs, shares(legs, weights), standardized)
