"""Pairs of systems measured on the same queries: their differences, and whether these may be chance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

import numpy as np

from corpora.errors import InputError, require
from eval.statistics.interval import Interval, Values, mean_interval
from eval.statistics.significance import effect_size, holm, least_randomization_p, paired_bootstrap_p, randomization_p

SAME = 1e-9
"""Values closer than this are equal: measures of equal rankings differ only by rounding."""


@dataclass(frozen=True, slots=True)
class Change:
    """A query's value in both runs of a pair."""

    query: str
    baseline: float
    run: float

    @property
    def difference(self) -> float:
        """How much better the run is than the baseline."""
        return self.run - self.baseline


@dataclass(frozen=True, slots=True)
class Pair:
    """A run against a baseline by one measure.

    Attributes:
        measure: As printed.
        baseline: Label of the run given first.
        run: Label of the other.
        changes: Every query, the largest difference first, ties by id.
        difference: The run's mean less the baseline's, with its interval over queries.
        effect: The difference in standard deviations; None where undefined.
        p_randomization: By the paired randomization test.
        p_randomization_least: The least that the first can be with as many queries that differ.
        p_bootstrap: By the paired bootstrap test.
        p_randomization_holm: The first corrected for all pairs and measures compared.
        p_bootstrap_holm: The second likewise.
    """

    measure: str
    baseline: str
    run: str
    changes: tuple[Change, ...]
    difference: Interval
    effect: float | None
    p_randomization: float
    p_randomization_least: float
    p_bootstrap: float
    p_randomization_holm: float
    p_bootstrap_holm: float

    @property
    def better(self) -> int:
        """Number of queries on which the run is better."""
        return sum(change.difference > SAME for change in self.changes)

    @property
    def worse(self) -> int:
        """Number of queries on which the run is worse."""
        return sum(change.difference < -SAME for change in self.changes)

    @property
    def changed(self) -> tuple[Change, ...]:
        """The queries whose values differ, the largest difference first."""
        return tuple(change for change in self.changes if abs(change.difference) > SAME)

    def as_dict(self) -> dict[str, Any]:
        """Return it in full precision as JSON values, without the queries."""
        told = asdict(self)
        del told["changes"]
        return {**told, "better": self.better, "worse": self.worse}


def compare_values(
    values: Mapping[str, Values], *, level: float = 0.95, resamples: int = 10_000, seed: int = 0
) -> tuple[Pair, ...]:
    """Compare runs that were measured on the same queries, each with every one given before it.

    Args:
        values: By run and measure, the value of each query; also of tasks, folds or labels.
        level: Confidence level of the intervals.
        resamples: Of the intervals and both tests.
        seed: Seed of all draws.

    Returns:
        Every pair by every measure that both have, with p-values corrected over all of them.

    Raises:
        InputError: If there are fewer than two runs or no measure in common, or queries differ between runs.
    """
    require(len(values) >= 2, "A comparison needs two runs or more.")
    asked = [
        (measure, baseline, run, _paired(values[baseline][measure], values[run][measure], baseline, run))
        for baseline, run in combinations(values, 2)
        for measure in values[baseline]
        if measure in values[run]
    ]
    require(asked, "The runs have no measure in common, so there is nothing to compare.")
    differences = [np.array([change.difference for change in changes]) for *_, changes in asked]
    drawn = {"resamples": resamples, "seed": seed}
    intervals = [_interval(one, level, **drawn) for one in differences]
    randomized = [randomization_p(one, **drawn) for one in differences]
    bootstrapped = [paired_bootstrap_p(one, **drawn) for one in differences]
    effects = map(effect_size, differences)
    least = [least_randomization_p(one, resamples=resamples) for one in differences]
    tests = zip(intervals, effects, randomized, least, bootstrapped, holm(randomized), holm(bootstrapped), strict=True)
    return tuple(
        Pair(
            measure,
            baseline,
            run,
            tuple(sorted(changes, key=lambda change: (-abs(change.difference), change.query))),
            *found,
        )
        for (measure, baseline, run, changes), found in zip(asked, tests, strict=True)
    )


def reach_of(differences: np.ndarray) -> float:
    """Return how much one more query may differ: as much as the largest difference seen, in either direction.

    If no query differs, it may differ by 1, the whole scale of a measure. Such intervals are about as wide as
    Student's, but hold where few queries differ, too (benchmarks/coverage.py).
    """
    largest = float(np.abs(differences).max())
    return largest if largest > SAME else 1.0


def _interval(differences: np.ndarray, level: float, resamples: int, seed: int) -> Interval:
    reach = reach_of(differences)
    return mean_interval(differences, scale=(-reach, reach), level=level, resamples=resamples, seed=seed)


def _paired(a: Mapping[str, float], b: Mapping[str, float], baseline: str, run: str) -> tuple[Change, ...]:
    if a.keys() != b.keys():
        only = sorted(a.keys() ^ b.keys())
        raise InputError(
            f"{baseline} and {run} were not measured on the same queries: {len(only):,} are only in one of them, such "
            f"as {only[0]}; measure both against the same judgments."
        )
    require(len(a) >= 2, "Two runs can be compared on two queries or more, not on fewer.")
    return tuple(Change(query, value, b[query]) for query, value in a.items())
