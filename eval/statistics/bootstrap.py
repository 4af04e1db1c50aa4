"""Bootstrap confidence intervals of any statistic, and the coverage of intervals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from corpora.errors import require
from eval.optional import optional
from eval.statistics.interval import UNIT, Interval, Scale, drawn_means, sample_of
from eval.statistics.significance import ROUNDING


def bootstrap_statistic(
    statistic: Callable[..., float], *arrays: Any, level: float = 0.95, resamples: int = 1_000, seed: int = 0
) -> Interval:
    """Return the bootstrap interval of a statistic that is no mean over rows, such as F1 or a correlation.

    Rows are drawn with replacement, the same rows of each array. A resample on which the statistic is undefined, such
    as one without positive labels, is ignored. Its limits are percentiles, farther out for few rows, so that the
    interval is as wide as Student's would be (the expanded percentile interval of Hesterberg, The American Statistician
    2015).

    Args:
        statistic: Takes the arrays and returns a number; NaN, or a ZeroDivisionError, where it is undefined.
        *arrays: One row per unit each, such as labels and predictions.
        level: Probability that the interval covers the statistic of all such units.
        resamples: How many times to draw as many rows as there are.
        seed: Seed of the draws.

    Returns:
        The interval; its `mean` is the statistic of the arrays themselves.

    Raises:
        InputError: If the arrays have no rows, or the statistic is undefined on the arrays or on most resamples.
        UnavailableError: If the extra eval isn't installed.
    """
    rows = [np.asarray(array) for array in arrays]
    count, generator = len(rows[0]), np.random.default_rng(seed)
    require(count, "There are no values to measure: nothing was predicted.")
    value = _value(statistic, rows)
    require(
        np.isfinite(value), "The measure is undefined on these data, so it has no interval; look for a constant column."
    )
    drawn = (generator.integers(count, size=count) for _ in range(resamples))
    values = np.array([_value(statistic, [array[chosen] for array in rows]) for chosen in drawn])
    defined = values[np.isfinite(values)]
    require(
        2 * defined.size >= resamples,
        f"The measure is undefined on most samples of these {count} rows: they are too few for it.",
    )
    return expanded_interval(value, defined, count, level)


def expanded_interval(value: float, resampled: np.ndarray, rows: int, level: float = 0.95) -> Interval:
    """Return the expanded percentile interval of a value, from its values in resamples of so many rows.

    With few rows, limits are farther out than the percentiles. Raises `UnavailableError` if the extra eval isn't
    installed.
    """
    special = optional("scipy.special", "Intervals need scipy")
    tail = (1 - level) / 2
    if rows > 1:
        tail = special.ndtr(-special.stdtrit(rows - 1, (1 + level) / 2) * np.sqrt(rows / (rows - 1)))
    low, high = np.quantile(resampled, [tail, 1 - tail])
    return Interval(float(low), value, float(high))


def interval_coverage(
    values: Sequence[float],
    levels: Sequence[float] = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95),
    *,
    scale: Scale | None = UNIT,
    splits: int = 200,
    resamples: int = 1_000,
    seed: int = 0,
) -> dict[float, float]:
    """Estimate the coverage of intervals of the mean on these values, by splitting them in half.

    Each split takes the interval of one half and checks whether it contains the mean of the other. That mean varies as
    much as the interval's centre, so the interval is first widened by the square root of 2: then a correct interval of
    level 0.95 contains it in 95 % of the splits.

    Args:
        values: One value per query.
        levels: Levels to check.
        scale: As for `mean_interval`.
        splits: How many times to split the values at random.
        resamples: As for `mean_interval`.
        seed: Seed of the splits and draws.

    Returns:
        For each level, the share of splits in which the interval contained the mean.

    Raises:
        InputError: If there are fewer than four values, or one is off the scale.
    """
    sample = sample_of(values)
    require(sample.size >= 4, "Coverage needs at least four queries; judge more of them.")
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


def _value(statistic: Callable[..., float], rows: Sequence[np.ndarray]) -> float:
    try:
        return float(statistic(*rows))
    except ZeroDivisionError:
        return float("nan")
