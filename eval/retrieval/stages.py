"""Settings of search to try, stage by stage: BM25's constants, the title's boost, then how the legs are joined.

Each stage starts from the best of the stage before, so that what is tried adds up instead of multiplying. All of a
stage's settings differ from that start in what the stage is about; the start comes first, the simplest next.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import product

from corpora.errors import require
from search_plugin.contract.plan import TITLE_BOOST
from search_plugin.contract.schema import Bm25
from search_plugin.fusion.fusions import DEFAULT_FUSION, FUSIONS, RANKED
from search_plugin.fusion.search_settings import SearchSettings

TuningStage = Callable[[SearchSettings], Sequence[SearchSettings]]
"""From the best settings so far to those to try."""

K1 = (0.6, 0.9, 1.2, 1.6, 2.0)
B = (0.2, 0.4, 0.6, 0.75, 0.9)
"""The engines' defaults 1.2 and 0.75, Anserini's 0.9 and 0.4, and values around them."""

BOOSTS = (0.0, 0.1, 0.2, TITLE_BOOST, 0.5, 1.0)

STEPS = 10
"""Weights are tried in steps of 0.1: so few queries can't show smaller differences."""

RANK_CONSTANTS = (10, 20, 60, 100)
"""The paper's 60, and constants that give the first ranks more or less weight."""


def stages(legs: Sequence[str], *, bm25: bool) -> tuple[TuningStage, ...]:
    """Return the stages of tuning a search with these legs, BM25's constants among them where they can be set.

    Args:
        legs: Their names.
        bm25: Whether to try other constants of BM25.

    Returns:
        The stages, in order.

    Raises:
        InputError: If there are fewer than two legs.
    """
    require(len(legs) >= 2, "There is nothing to tune with fewer than two legs; use a model with vectors.")
    return (*([scorings] if bm25 else []), boosts, partial(fusions, legs))


def start(legs: Sequence[str]) -> SearchSettings:
    """Return the settings of a search without tuning, with the equal weights written out."""
    return SearchSettings(weights={leg: 1 / len(legs) for leg in legs})


def scorings(best: SearchSettings) -> tuple[SearchSettings, ...]:
    """Return the settings with other constants of BM25, those nearest to the start first."""
    own = best.bm25
    tried = {own, *(Bm25(k1, b) for k1, b in product(K1, B))}
    nearest = sorted(tried, key=lambda one: (math.dist((one.k1, one.b), (own.k1, own.b)), one.k1, one.b))
    return tuple(replace(best, bm25=one) for one in nearest)


def boosts(best: SearchSettings) -> tuple[SearchSettings, ...]:
    """Return the settings with other boosts of the title, those nearest to the start first."""
    tried = sorted({best.title_boost, *BOOSTS}, key=lambda boost: (abs(boost - best.title_boost), boost))
    return tuple(replace(best, title_boost=boost) for boost in tried)


def fusions(
    legs: Sequence[str], best: SearchSettings, *, steps: int = STEPS, constants: Sequence[int] = RANK_CONSTANTS
) -> tuple[SearchSettings, ...]:
    """Return the settings with every fusion, every weighting in steps that sum to 1, every rank constant.

    Args:
        legs: Names of the legs.
        best: The settings to start from.
        steps: Number of steps between weights 0 and 1.
        constants: For reciprocal rank fusion.

    Returns:
        The simplest first: the default with equal weights, then by how far the weights are from equal.
    """
    equal = tuple(1 / len(legs) for _ in legs)
    weightings = {tuple(part / steps for part in parts) for parts in _compositions(steps, len(legs))} | {equal}
    names = [DEFAULT_FUSION, *(name for name in FUSIONS if name != DEFAULT_FUSION)]
    points = [
        (round(math.dist(weights, equal), 9), rank, constant or 0, weights, name)
        for weights in weightings
        for rank, name in enumerate(names)
        for constant in (constants if name == RANKED else (None,))
    ]
    return tuple(
        replace(best, fusion=name, weights=dict(zip(legs, weights, strict=True)), rank_constant=constant or None)
        for _, _, constant, weights, name in sorted(points)
    )


def _compositions(total: int, parts: int) -> Iterator[tuple[int, ...]]:
    """Yield, in order, every way to write a total as a sum of a given number of integers from 0 up."""
    if parts == 1:
        yield (total,)
        return
    for first in range(total + 1):
        for rest in _compositions(total - first, parts - 1):
            yield (first, *rest)
