"""What all fusions share: checks of weights and scores, and the sum of the legs' contributions."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import count
from typing import TYPE_CHECKING

from corpora.errors import InputError, UnavailableError
from search_plugin.contract.legs import Fused, Scored

if TYPE_CHECKING:
    from collections.abc import Callable

Legs = Mapping[str, Sequence[Scored]]
"""The hits of each leg by its name, best first."""

MAX_SCORE = 3.5e38
"""Engines score in 32-bit floats. A larger score is an error, and differences of such scores could overflow."""


def check_weights(legs: Iterable[str], weights: Mapping[str, float]) -> dict[str, float]:
    """Give every leg its weight, 1 where none is named.

    Args:
        legs: Names of the legs.
        weights: The weights asked for, by leg name.

    Returns:
        One weight per leg, in the order of the legs.

    Raises:
        InputError: If a weight names no leg, is negative or not a number, or all are zero.
    """
    names = list(legs)
    for name, weight in weights.items():
        if name not in names:
            known = ", ".join(sorted(names)) or "none"
            raise InputError(f"The weight {name}={weight:g} names no leg of this search; choose one of {known}.")
        if not 0 <= weight < math.inf:
            raise InputError(f"The weight {name}={weight:g} can't be used; give a number of 0 or more.")
    complete = {name: float(weights.get(name, 1.0)) for name in names}
    if complete and not any(complete.values()):
        raise InputError("The weights of all legs are 0, so nothing would be ranked; give at least one above 0.")
    return complete


def shares(legs: Iterable[str], weights: Mapping[str, float]) -> dict[str, float]:
    """Return the checked weights scaled to sum to 1, as a weighted mean needs them."""
    checked = check_weights(legs, weights)
    # Divided by the largest weight first: the sum of very large weights would overflow.
    largest = max(checked.values(), default=1.0)
    total = math.fsum(weight / largest for weight in checked.values())
    return {name: weight / largest / total for name, weight in checked.items()}


def combine(
    legs: Legs, weights: Mapping[str, float], values: Callable[[Sequence[float]], Sequence[float]]
) -> list[Fused]:
    """Add up, for each paper, its weighted value from every leg that found it.

    Args:
        legs: The hits of each leg; where one names a paper twice, the better hit counts.
        weights: One weight per leg.
        values: Turns a leg's scores, best first, into the values to weight.

    Returns:
        The papers by score, best first, ties by id in ascending order. A score is the exact sum of its contributions,
        rounded once, so it does not depend on the order of the legs.

    Raises:
        UnavailableError: If a score isn't a finite 32-bit number, as those of every working engine are.
    """
    given: dict[str, Mapping[str, tuple[int, float, float]]] = {}
    added: dict[str, tuple[float, ...]] = {}
    for leg, hits in legs.items():
        best, weight = _distinct(leg, hits), weights[leg]
        weighted = [weight * value for value in values(list(best.values()))]
        given[leg] = dict(zip(best, zip(count(1), best.values(), weighted, strict=False), strict=True))
        for paper, value in zip(best, weighted, strict=True):
            added[paper] = (*added.get(paper, ()), value)
    scores = {paper: math.fsum(parts) for paper, parts in added.items()}
    return [Fused(paper, scores[paper], given) for paper in sorted(scores, key=lambda one: (-scores[one], one))]


def _distinct(leg: str, hits: Sequence[Scored]) -> dict[str, float]:
    """Return the best score of each paper, in the order of the hits."""
    best: dict[str, float] = {}
    for paper, score, _ in hits:
        if not abs(score) <= MAX_SCORE:
            raise UnavailableError(
                f"The engine scored {paper} with {score} in the {leg} leg, which can't be ranked; "
                "check the stored vectors for values that are not numbers, and index again."
            )
        best.setdefault(paper, score)
    return best
