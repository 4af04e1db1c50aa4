"""How far a statistic of a sample can be trusted, by resampling: tests, intervals, and the coverage of intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from corpora.errors import InputError, UnavailableError
from eval.statistics.interval import CHUNK, UNIT, Interval, drawn_means, require_level, require_resamples, sample_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from eval.statistics.interval import Scale

ROUNDING = 1e-12
"""Relative spread up to which differences are equal but for rounding."""


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
    differences = sample_of(np.subtract(values_a, values_b), resamples)
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
    """Return the bootstrap interval of a statistic that is no mean over rows, such as F1 or a correlation.

    Rows are drawn with replacement, the same ones of each array. A resample on which the statistic is undefined, such
    as one without any positive label, says nothing about it: the interval is that of the resamples that have a value.
    Its limits are percentiles, farther out for few rows, so that the interval is as wide as Student's would be
    (the expanded percentile interval of Hesterberg, The American Statistician 2015).

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
        UnavailableError: If the extra eval isn't installed.
    """
    rows = [np.asarray(array) for array in arrays]
    sizes = {len(array) for array in rows}
    if len(sizes) != 1 or 0 in sizes:
        raise InputError(f"A statistic is taken over the same rows of each array, one or more, not {sorted(sizes)}.")
    require_level(level)
    require_resamples(resamples)
    value = _value(statistic, rows)
    if not np.isfinite(value):
        raise InputError("The measure is undefined on these data, so it has no interval; look for a constant column.")
    count, generator = sizes.pop(), np.random.default_rng(seed)
    drawn = (generator.integers(count, size=count) for _ in range(resamples))
    values = np.array([_value(statistic, [array[chosen] for array in rows]) for chosen in drawn])
    defined = values[np.isfinite(values)]
    if 2 * defined.size < resamples:
        raise InputError(f"The measure is undefined on most samples of these {count} rows: they are too few for it.")
    tail = expanded_tail(level, count)
    low, high = np.quantile(defined, [tail, 1 - tail])
    return Interval(float(low), value, float(high))


def expanded_tail(level: float, rows: int) -> float:
    """Return the share of resamples beyond either limit: (1 - level) / 2 for many rows, less for few.

    Args:
        level: Of the interval.
        rows: How many are resampled.

    Returns:
        The share.

    Raises:
        UnavailableError: If the extra eval isn't installed.
    """
    try:
        from scipy.special import ndtr, stdtrit
    except ImportError as error:
        raise UnavailableError("Intervals need scipy; install it: pip install 'ses[eval]'.") from error
    if rows == 1:
        return (1 - level) / 2
    return float(ndtr(-stdtrit(rows - 1, (1 + level) / 2) * np.sqrt(rows / (rows - 1))))


def interval_coverage(
    values: Sequence[float],
    levels: Sequence[float] = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95),
    *,
    scale: Scale | None = UNIT,
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
        scale: As for `mean_interval`.
        splits: How many times to split the values at random.
        resamples: As for `mean_interval`.
        seed: Seed of the splits and draws.

    Returns:
        For each level, the share of splits in which the interval held the mean.

    Raises:
        InputError: If there are fewer than four values, or a number is out of its range or off the scale.
    """
    sample = sample_of(values, resamples)
    if sample.size < 4 or splits < 1:
        raise InputError("Coverage needs four queries or more, and one split or more.")
    for level in levels:
        require_level(level)
    half, generator = sample.size // 2, np.random.default_rng(seed)
    halves = np.stack([generator.permutation(sample)[: 2 * half].reshape(2, half) for _ in range(splits)])
    first, second = halves[:, 0], halves[:, 1].mean(axis=1)
    centre = first.mean(axis=1)
    lows, highs = drawn_means(first, scale, resamples, seed)
    covered = {}
    for level in levels:
        low, high = np.quantile(lows, (1 - level) / 2, axis=0), np.quantile(highs, (1 + level) / 2, axis=0)
        slack = ROUNDING * np.abs(sample).max()
        reach = np.sqrt(2) * np.where(second < centre, centre - low, high - centre) + slack
        covered[level] = float(np.mean(np.abs(second - centre) <= reach))
    return covered


def _value(statistic: Callable[..., float], rows: Sequence[NDArray[Any]]) -> float:
    try:
        return float(statistic(*rows))
    except ZeroDivisionError:
        return float("nan")


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
