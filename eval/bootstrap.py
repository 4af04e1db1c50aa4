"""How far a mean over queries can be trusted, by resampling the queries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from corpora.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

CHUNK = 2_000_000
"""Values drawn at a time, so that memory doesn't grow with the number of resamples."""

ROUNDING = 1e-12
"""Relative spread up to which differences are equal but for rounding."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean and its confidence interval."""

    low: float
    mean: float
    high: float


def bootstrap_interval(
    values: Sequence[float], *, level: float = 0.95, resamples: int = 10_000, seed: int = 0
) -> Interval:
    """Return the percentile bootstrap interval of the mean (Efron & Tibshirani 1993, section 13.3).

    Written here and not taken from `scipy.stats.bootstrap`, which draws the same numbers as quickly but takes a
    second to import, refuses a single value, and has no counterpart for `paired_bootstrap_p`.

    Args:
        values: One value per query; a single one gives an interval of no width.
        level: Probability that the interval covers the mean over all such queries.
        resamples: How many times to draw as many queries as there are, with replacement.
        seed: Seed of the draws.

    Returns:
        The interval around the mean of `values`.

    Raises:
        InputError: If there are no values, or a number is out of its range.
    """
    sample = _sample(values, resamples)
    if not 0 < level < 1:
        raise InputError(f"The confidence level must lie between 0 and 1, not {level}.")
    means = np.concatenate([drawn.mean(axis=1) for drawn in _resampled(sample, resamples, seed)])
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(low), float(sample.mean()), float(high))


def paired_bootstrap_p(
    values_a: Sequence[float], values_b: Sequence[float], *, resamples: int = 10_000, seed: int = 0
) -> float:
    """Return the two-sided p-value of two runs having the same mean over the same queries.

    The paired test of Sakai (SIGIR 2006): the differences, moved to a mean of 0, are resampled, and the studentised
    mean of each resample is compared with the one observed. The observed sample counts among the resamples
    (Davison & Hinkley 1997, section 4.2), so p is never 0.

    Args:
        values_a: One value per query.
        values_b: The other run's values of the same queries in the same order.
        resamples: How many times to draw.
        seed: Seed of the draws.

    Returns:
        The p-value, in (0, 1].

    Raises:
        InputError: If the lengths differ or there are fewer than two queries.
    """
    if len(values_a) != len(values_b):
        raise InputError(f"The runs were measured on {len(values_a)} and {len(values_b)} queries; compare the same.")
    if len(values_a) < 2:
        raise InputError("Two runs can be compared on two queries or more, not on fewer.")
    differences = _sample(np.subtract(values_a, values_b), resamples)
    if np.ptp(differences) <= ROUNDING * np.abs(differences).max():
        # All resamples are alike. As the differences near each other, only a resample of one query drawn n times stays
        # as extreme as what was observed: 1 in n^(n-1).
        count = float(differences.size)
        return max(count ** (1 - count), 1 / (1 + resamples)) if differences.any() else 1.0
    observed = _studentised(differences[None, :])[0]
    shifted = differences - differences.mean()
    extreme = sum(
        int(np.count_nonzero(_studentised(drawn) >= observed)) for drawn in _resampled(shifted, resamples, seed)
    )
    return (1 + extreme) / (1 + resamples)


def _sample(values: Sequence[float] | NDArray[np.float64], resamples: int) -> NDArray[np.float64]:
    sample = np.asarray(values, dtype=np.float64)
    if sample.size == 0:
        raise InputError("There are no values to take a mean of: no query was measured.")
    if not np.isfinite(sample).all():
        raise InputError("A value is not a finite number, so there is no mean to give.")
    if resamples < 1:
        raise InputError(f"The number of resamples must be 1 or more, not {resamples}.")
    return sample


def _resampled(sample: NDArray[np.float64], resamples: int, seed: int) -> Iterator[NDArray[np.float64]]:
    generator = np.random.default_rng(seed)
    rows = max(1, CHUNK // sample.size)
    for start in range(0, resamples, rows):
        yield sample[generator.integers(sample.size, size=(min(rows, resamples - start), sample.size))]


def _studentised(samples: NDArray[np.float64]) -> NDArray[np.float64]:
    """|mean| / standard deviation of each row, infinite for equal values other than 0; sqrt(n) cancels out."""
    size, spread = np.abs(samples.mean(axis=1)), np.ptp(samples, axis=1)
    deviation = np.where(spread > 0, samples.std(axis=1, ddof=1), 0.0)
    statistic = np.where(size > 0, np.inf, 0.0)
    np.divide(size, deviation, out=statistic, where=deviation > 0)
    return statistic
