"""The fusions, which rank papers by several legs. A new one is a function and one line of `FUSIONS`."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import count

from corpora.errors import InputError, UnavailableError
from search_plugin.contract.legs import Fused, Scored
from search_plugin.contract.plan import VectorClause

Legs = Mapping[str, Sequence[Scored]]
"""The hits of each leg by its name, best first."""

Fusion = Callable[[Legs, Mapping[str, float]], list[Fused]]
"""Ranks the papers of several legs, given weights by leg name (1 where none is named): best first, ties by id."""

MAX_SCORE = 3.5e38
"""Engines score in 32-bit floats. A larger score is an error, and differences of such scores could overflow."""

DEFAULT_FUSION = "minmax"

RANKED = "rrf"
"""The fusion that takes a rank constant."""

RANK_CONSTANT = 60
"""The rank constant of `rrf`."""

LARGEST_CONSTANT = 100_000

_WITH_CONSTANT = re.compile(rf"{RANKED}@([1-9]\d{{0,5}})", re.ASCII)


def minmax(legs: Legs, weights: Mapping[str, float], *, floor: float = 0.0) -> list[Fused]:
    """Rank papers by the weighted mean of their scores, each leg's scaled to 0..1 over the hits it brought back.

    A score s becomes `(s - min) / (max - min)`, or 1 for each hit of a leg whose scores are all equal; a paper that a
    leg did not find gets 0 from it. Weights are divided by their sum.

    OpenSearch's `normalization-processor` (`min_max` with `arithmetic_mean`) differs in one point: it lifts a leg's
    last hit from 0 to 0.001, so that being found last is worth more than not being found. `floor=0.001` equals it.

    Use it when the distances between scores mean something, as those of words and vectors do; it is the default.
    """

    def scaled(scores: Sequence[float]) -> list[float]:
        low, high = min(scores, default=0.0), max(scores, default=0.0)
        if low == high:
            return [1.0] * len(scores)
        return [(score - low) / (high - low) or floor for score in scores]

    return combine(legs, shares(legs, weights), scaled)


def zscore(legs: Legs, weights: Mapping[str, float], *, floor: float = 0.001) -> list[Fused]:
    """Rank papers by the weighted mean of their z-scores `(s - mean) / deviation` over the hits each leg brought back.

    As in OpenSearch's `normalization-processor` (`z_score`, from 3.0), z-scores at or below the mean are lifted to a
    floor and a paper that a leg did not find gets 0 from it: a hit below the mean gets a little, never a negative
    value. So a leg ranks only the papers above its own mean. Weights are divided by their sum.

    It differs from OpenSearch in three points. The deviation is the population's (OpenSearch divides by n - 1). A leg
    whose scores are all equal, one hit among them, has z-scores of 0 (OpenSearch passes the raw score through). And
    z-scores between 0 and the floor are lifted too, so that a better score never gets less.

    Use it when single hits score far above all others, which would press those together between 0 and 1.
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


def rrf(legs: Legs, weights: Mapping[str, float], *, k: int = RANK_CONSTANT) -> list[Fused]:
    """Rank papers by the weighted sum of `1 / (k + rank)` over the legs that found them; a larger k levels the ranks.

    Cormack, Clarke and Buettcher, "Reciprocal rank fusion outperforms Condorcet and individual rank learning methods",
    SIGIR 2009, section 2, which has k = 60 and no weights; a weight multiplies its leg's term. Ranks count from 1 by
    position, so the scores themselves and ties among them don't matter.

    Use it when the scores of a leg can't be compared with each other, or their scale is unknown.
    """
    return combine(legs, check_weights(legs, weights), lambda scores: [1 / (k + i) for i in range(1, len(scores) + 1)])


def check_weights(legs: Iterable[str], weights: Mapping[str, float]) -> dict[str, float]:
    """Return one weight per leg, in the order of the legs; it is 1 where none is named.

    Raises `InputError` if a weight names no leg, is negative or not a number, or all are zero.
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


def with_defaults(vectors: Sequence[VectorClause], weights: Mapping[str, float]) -> dict[str, float]:
    """Return weights with those of the vector legs that they do not name, which share a weight of 1.

    So words count as much as meaning, however many fields of vectors there are. If there are no weights, each vector
    has its own share of that.
    """
    share = 1 / max(len(vectors), 1)
    return {**{clause.field: share * (1 if weights else clause.weight) for clause in vectors}, **weights}


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

    A score is the exact sum of its contributions, rounded once, so it does not depend on the order of the legs. Where a
    leg names a paper twice, the better hit counts.

    Args:
        legs: The hits of each leg.
        weights: One weight per leg.
        values: A function that turns a leg's scores, best first, into the values to weight.

    Returns:
        The papers by score, best first, ties by id in ascending order.

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


FUSIONS: Mapping[str, Fusion] = {"minmax": minmax, "rrf": rrf, "zscore": zscore}


def get_fusion(name: str) -> Fusion:
    """Return the fusion of that name, or raise `InputError` that names the available ones."""
    if name not in FUSIONS:
        raise InputError(f"There is no fusion {name!r}; choose one of {', '.join(sorted(FUSIONS))}.")
    return FUSIONS[name]


def fusion_of(name: str) -> Fusion:
    """Return a fusion by its name, `rrf` also with a rank constant behind it (`rrf@20`); errors as of `get_fusion`."""
    match = _WITH_CONSTANT.fullmatch(name)
    if match is None or int(match[1]) > LARGEST_CONSTANT:
        return get_fusion(name)
    return partial(rrf, k=int(match[1]))


def rank_constant(name: str) -> int:
    """Return the rank constant of a fusion that `fusion_of` knows; 0 of one that does not rank by ranks."""
    match = _WITH_CONSTANT.fullmatch(name)
    if match:
        return int(match[1])
    return RANK_CONSTANT if name == RANKED else 0
