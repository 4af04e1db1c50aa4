"""Pairs of systems measured on the same queries: their differences, and whether these may be chance.

There are two tests by scipy, Holm's correction, and the effect size. All take the differences of two runs by query,
float64 (queries,), one or more and finite.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

import numpy as np

from corpora.errors import InputError, require
from corpora.installed import optional
from eval.statistics.interval import CHUNK, ROUNDING, Interval, Values, mean_interval

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
        measure: Name of the measure, as printed.
        baseline: Label of the run given first.
        run: Label of the other.
        changes: Every query, the largest difference first, ties by id.
        difference: The run's mean less the baseline's, with its interval over queries.
        effect: The difference in standard deviations; None where undefined.
        p_randomization: The p-value of the paired randomization test.
        p_randomization_least: The least that it can be with as many queries that differ.
        p_bootstrap: The p-value of the paired bootstrap test.
        p_randomization_holm: `p_randomization` corrected for all pairs and measures compared.
        p_bootstrap_holm: `p_bootstrap` corrected likewise.
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
        values = asdict(self)
        del values["changes"]
        return {**values, "better": self.better, "worse": self.worse}


def compare_values(
    values: Mapping[str, Values], *, level: float = 0.95, resamples: int = 10_000, seed: int = 0
) -> tuple[Pair, ...]:
    """Compare runs that were measured on the same queries, each with every one given before it.

    `values` are those of each query (or task, fold or label) by run and measure; `resamples` is the number for the
    intervals and both tests. Returns every pair by every measure that both have, with p-values corrected over all of
    them. Raises `InputError` if there are fewer than two runs or no measure in common, or queries differ between runs.
    """
    require(len(values) >= 2, "A comparison needs two runs or more.")
    compared = [
        (measure, baseline, run, _paired(values[baseline][measure], values[run][measure], baseline, run))
        for baseline, run in combinations(values, 2)
        for measure in values[baseline]
        if measure in values[run]
    ]
    require(compared, "The runs have no measure in common, so there is nothing to compare.")
    differences = [np.array([change.difference for change in changes]) for *_, changes in compared]
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
        for (measure, baseline, run, changes), found in zip(compared, tests, strict=True)
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


EXACT = 13
"""If at most this many queries differ, all assignments (8,192 at most) are counted."""

_DIGITS = 12
"""Digits of relative sums of differences that are compared: those beyond them differ by rounding."""

NEED = "Tests of significance need scipy"


def randomization_p(differences: np.ndarray, *, resamples: int = 10_000, seed: int = 0) -> float:
    """Return the two-sided p-value of two runs being the same system, in (0, 1], by the paired randomization test.

    If they were, then which of a query's two values belongs to which run would be chance (Smucker, Allan & Carterette,
    CIKM 2007, section 2.5): p is the share of assignments whose means differ as much as those observed, or more. Where
    few queries differ, all assignments are counted; otherwise `resamples` assignments are drawn, and the observed one
    counts among them (Phipson & Smyth 2010), so p is never 0. `differences` are those of the two runs, by query.
    `UnavailableError` if scipy isn't installed.
    """
    changed = differences[_changed(differences)]
    if changed.size < 2:
        return 1.0
    total = np.abs(changed).sum()

    def size_of_mean(samples: np.ndarray, axis: int) -> np.ndarray:
        # Sums that differ only by rounding are equal.
        return np.asarray(np.round(np.abs(samples.sum(axis=axis)) / total, _DIGITS))

    if changed.size > EXACT:
        generator = np.random.default_rng(seed)
        swapped = lambda size: np.where(generator.random(size) < 0.5, -changed, changed)  # noqa: E731
        return _drawn_p(changed, swapped, size_of_mean, resamples)
    test = optional("scipy.stats", NEED, "eval").permutation_test
    found = test(
        (changed,),
        size_of_mean,
        permutation_type="samples",
        alternative="greater",
        vectorized=True,
        n_resamples=2**EXACT,
    )
    return float(found.pvalue)


def least_randomization_p(differences: np.ndarray, *, resamples: int = 10_000) -> float:
    """Return the least p-value that `randomization_p` can have for these queries, if all differed in one direction."""
    changed = int(np.count_nonzero(_changed(differences)))
    return min(1.0, 2 / 2**changed) if changed <= EXACT else 1 / (1 + resamples)


def paired_bootstrap_p(differences: np.ndarray, *, resamples: int = 10_000, seed: int = 0) -> float:
    """Return the two-sided p-value, in (0, 1], of two runs having the same mean over the same queries, two or more.

    The paired test of Sakai (SIGIR 2006): the differences, moved to a mean of 0, are resampled, and the studentised
    mean of each resample is compared with the one observed. The observed sample counts among the resamples (Davison &
    Hinkley 1997, section 4.2), so p is never 0. `UnavailableError` if scipy isn't installed.
    """
    if np.ptp(differences) <= ROUNDING * np.abs(differences).max():
        # All resamples are alike. As the differences near each other, only a resample of one query drawn n times stays
        # as extreme as what was observed: 1 in n^(n-1).
        count = float(differences.size)
        return max(count ** (1 - count), 1 / (1 + resamples)) if differences.any() else 1.0
    # At most 1, because the squares of very small numbers would underflow; the studentised mean stays the same.
    scaled = differences / np.abs(differences).max()
    shifted, generator = scaled - scaled.mean(), np.random.default_rng(seed)
    drawn = lambda size: shifted[generator.integers(shifted.size, size=size)]  # noqa: E731
    return _drawn_p(scaled, drawn, _studentised, resamples)


def holm(p_values: Sequence[float]) -> tuple[float, ...]:
    """Return p-values of one family of tests, corrected for their number by Holm's step-down procedure (Holm 1979).

    They are in the same order, and 1 at most. Rejecting those at or below alpha keeps the probability of any false
    rejection at or below alpha, however the tests depend on each other.
    """
    values = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(values, kind="stable")
    adjusted = np.empty_like(values)
    adjusted[order] = np.maximum.accumulate(values[order] * np.arange(values.size, 0, -1)).clip(max=1.0)
    return tuple(adjusted.tolist())


def effect_size(differences: np.ndarray) -> float | None:
    """Return the mean difference in standard deviations of the differences (Cohen's d for pairs).

    The size is 0 for equal runs, and None where it is undefined: with one query, or all differing by the same.
    """
    if not differences.any():
        return 0.0
    # Scale to at most 1, because the squares of very small numbers would underflow; the ratio stays the same.
    scaled = differences / np.abs(differences).max()
    return None if np.ptp(scaled) <= ROUNDING else float(scaled.mean() / scaled.std(ddof=1))


def _changed(differences: np.ndarray) -> np.ndarray:
    """Return which queries differ; the value of others is the same under either assignment."""
    return np.asarray(np.abs(differences) > ROUNDING * np.abs(differences).max())


def _drawn_p(
    differences: np.ndarray,
    draw: Callable[[tuple[int, int]], np.ndarray],
    statistic: Callable[..., np.ndarray],
    resamples: int,
) -> float:
    """Return the share of draws whose statistic is as large as the observed one, which counts among them."""
    found = optional("scipy.stats", NEED, "eval").monte_carlo_test(
        differences,
        draw,
        statistic,
        alternative="greater",
        vectorized=True,
        n_resamples=resamples,
        batch=max(1, CHUNK // differences.size),  # as many at a time as fit in memory
    )
    return float(found.pvalue)


def _studentised(samples: np.ndarray, axis: int) -> np.ndarray:
    """|mean| / standard deviation of samples, infinite for equal values other than 0; sqrt(n) cancels out."""
    size, spread = np.abs(samples.mean(axis=axis)), np.ptp(samples, axis=axis)
    deviation = np.where(spread > 0, samples.std(axis=axis, ddof=1), 0.0)
    return np.asarray(np.divide(size, deviation, out=np.where(size > 0, np.inf, 0.0), where=deviation > 0))
