"""How far a mean over queries, or any other statistic of a sample, can be trusted, by resampling."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from corpora.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

CHUNK = 2_000_000
"""Values drawn at a time, so that memory doesn't grow with the number of resamples."""

ROUNDING = 1e-12
"""Relative spread up to which differences are equal but for rounding."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean, or another statistic in its place, and its confidence interval."""

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
    _require_level(level)
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


def bootstrap_statistic(
    statistic: Callable[..., float], *arrays: Any, level: float = 0.95, resamples: int = 1_000, seed: int = 0
) -> Interval:
    """Return the percentile bootstrap interval of a statistic that is no mean over rows, such as F1 or a correlation.

    Rows are drawn with replacement, the same ones of each array. A resample on which the statistic is undefined, such
    as one without any positive label, says nothing about it: the interval is that of the resamples that have a value.

    Args:
        statistic: Takes the arrays and returns a number; NaN, or a ZeroDivisionError, where it is undefined.
        *arrays: One row per unit each, such as labels and predictions.
        level: Probability that the interval covers the statistic of all such units.
        resamples: How many times to draw as many rows as there are.
        seed: Seed of the draws.

    Returns:
        The interval around the statistic of the arrays as they are, which stands in `mean`.

    Raises:
        InputError: If the arrays have no rows or not equally many, a number is out of its range, or the statistic is
            undefined on the arrays or on most resamples.
    """
    rows = [np.asarray(array) for array in arrays]
    sizes = {len(array) for array in rows}
    if len(sizes) != 1 or 0 in sizes:
        raise InputError(f"A statistic is taken over the same rows of each array, one or more, not {sorted(sizes)}.")
    _require_level(level)
    _require_resamples(resamples)
    value = _value(statistic, rows)
    if not np.isfinite(value):
        raise InputError("The measure is undefined on these data, so it has no interval; look for a constant column.")
    count, generator = sizes.pop(), np.random.default_rng(seed)
    drawn = (generator.integers(count, size=count) for _ in range(resamples))
    values = np.array([_value(statistic, [array[chosen] for array in rows]) for chosen in drawn])
    defined = values[np.isfinite(values)]
    if 2 * defined.size < resamples:
        raise InputError(f"The measure is undefined on most samples of these {count} rows: they are too few for it.")
    low, high = np.quantile(defined, [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(low), value, float(high))


def interval_coverage(
    values: Sequence[float],
    levels: Sequence[float] = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95),
    *,
    splits: int = 200,
    resamples: int = 1_000,
    seed: int = 0,
) -> dict[float, float]:
    """Tell how often intervals of the mean hold what they promise on these very values, by splitting them in half.

    Each split takes the interval of one half and looks whether it holds the mean of the other. That mean scatters as
    much as the interval's own centre, so the interval is first widened by the square root of 2: then an interval of
    level 0.95 that deserves its name holds it in 95 % of the splits.

    Args:
        values: One value per query.
        levels: Levels to look at.
        splits: How many times to split the values at random.
        resamples: As for `bootstrap_interval`.
        seed: Seed of the splits and draws.

    Returns:
        For each level, the share of splits in which the interval held the mean.

    Raises:
        InputError: If there are fewer than four values, or a number is out of its range.
    """
    sample = _sample(values, resamples)
    if sample.size < 4 or splits < 1:
        raise InputError("Coverage needs four queries or more, and one split or more.")
    for level in levels:
        _require_level(level)
    half, generator = sample.size // 2, np.random.default_rng(seed)
    halves = np.stack([generator.permutation(sample)[: 2 * half].reshape(2, half) for _ in range(splits)])
    first, second = halves[:, 0], halves[:, 1].mean(axis=1)
    centre = first.mean(axis=1)
    # The same draws serve every split, as weights: one product of matrices gives all the means.
    means = np.concatenate([_weights(drawn) @ first.T for drawn in _resampled(np.arange(half), resamples, seed)])
    covered = {}
    for level in levels:
        low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2], axis=0)
        slack = ROUNDING * np.abs(sample).max()
        reach = np.sqrt(2) * np.where(second < centre, centre - low, high - centre) + slack
        covered[level] = float(np.mean(np.abs(second - centre) <= reach))
    return covered


def _weights(drawn: NDArray[Any]) -> NDArray[np.float64]:
    """Share of each position in every row of drawn positions, (rows, positions)."""
    rows, size = drawn.shape
    flat = (drawn + size * np.arange(rows)[:, None]).ravel()
    counted: NDArray[np.float64] = np.bincount(flat, minlength=rows * size).reshape(rows, size) / size
    return counted


def _value(statistic: Callable[..., float], rows: Sequence[NDArray[Any]]) -> float:
    try:
        return float(statistic(*rows))
    except ZeroDivisionError:
        return float("nan")


def _require_level(level: float) -> None:
    if not 0 < level < 1:
        raise InputError(f"The confidence level must lie between 0 and 1, not {level}.")


def _require_resamples(resamples: int) -> None:
    if resamples < 1:
        raise InputError(f"The number of resamples must be 1 or more, not {resamples}.")


def _sample(values: Sequence[float] | NDArray[np.float64], resamples: int) -> NDArray[np.float64]:
    sample = np.asarray(values, dtype=np.float64)
    if sample.size == 0:
        raise InputError("There are no values to take a mean of: no query was measured.")
    if not np.isfinite(sample).all():
        raise InputError("A value is not a finite number, so there is no mean to give.")
    _require_resamples(resamples)
    return sample


def _resampled(sample: NDArray[Any], resamples: int, seed: int) -> Iterator[NDArray[Any]]:
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
