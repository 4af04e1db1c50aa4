"""The confidence interval of a mean over few or many queries.

The bootstrap knows only the queries it was given. If ten of ten queries succeed, it concludes that the eleventh will
succeed too. If a measure is often exactly 0 or 1, its 95 % intervals contain the true mean far less often than in 95 %
of cases. The interval here allows for one more query: the lower limit is taken as though that query had the least
possible value, the upper limit as though it had the largest. With every query weighted at random, as in the Bayesian
bootstrap (Rubin, Annals of Statistics 1981), these limits are those of Gaffke (Mathematical Methods of Statistics
2005); see also Learned-Miller & Thomas (arXiv 1905.06208), who find no distribution on a known scale for which they
contain the mean too rarely. For values of 0 and 1 they are those of Clopper & Pearson (Biometrika 1934).
`benchmarks/coverage.py` measures how often they contain the mean, and how wide they are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from corpora.errors import InputError, require
from corpora.installed import optional

Scale = tuple[float, float]
"""Least and largest value that a query can have."""

UNIT: Scale = (0.0, 1.0)

REACH = 1.5
"""If no scale is known: the largest distance of the next value from the mean, relative to the farthest value seen. With
it five values of a normal distribution get an interval as wide as Student's (benchmarks/coverage.py)."""

FEW = 25
"""With fewer values, intervals without a scale and tests are wrong for skewed values (benchmarks/coverage.py)."""

SLACK = 1e-9
"""Largest rounding error by which a measure may leave its scale."""

ROUNDING = 1e-12
"""Relative spread below which values count as equal up to rounding."""

DRAWS = 200_000_000
"""Most weights that an interval draws: a mean over 100,000 values needs fewer resamples than one over fifty."""

CHUNK = 2_000_000
"""Values drawn at a time, so that memory doesn't grow with the number of resamples."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean (or another statistic) and its confidence interval."""

    low: float
    mean: float
    high: float


Cell = Interval | float
"""A measure's value, with an interval if it has one."""

Values = Mapping[str, Mapping[str, float]]
"""By measure, the value of each query (or other unit of a mean)."""


def value_of(cell: Cell) -> float:
    """Return the value alone."""
    return cell.mean if isinstance(cell, Interval) else cell


def mean_interval(
    values: Sequence[float] | np.ndarray,
    *,
    scale: Scale | None = UNIT,
    level: float = 0.95,
    resamples: int | None = None,
    seed: int = 0,
) -> Interval:
    """Return the mean of some queries with an interval for the mean over all such queries.

    Args:
        values: One value per query.
        scale: Least and largest possible value. None if unknown, as for a loss: then the next value may be 1.5 times as
            far from the mean as the farthest, and equal values give an interval of width 0.
        level: Probability that the interval covers the mean over all such queries.
        resamples: How many times to draw weights of the queries; if None, 10,000 times; for more than 20,000 values
            fewer times, but at least 1,000.
        seed: Seed of the draws.

    Returns:
        The interval around the mean of `values`.

    Raises:
        InputError: If there are no values, or one is not finite or not on the scale.
    """
    sample = sample_of(values)
    times = resamples or min(10_000, max(1_000, DRAWS // sample.size))
    lows, highs = drawn_means(sample[None, :], scale, times, seed)
    mean = float(sample.mean())
    low, high = np.quantile(lows, (1 - level) / 2), np.quantile(highs, (1 + level) / 2)
    # Weights add up to 1 only up to rounding, so limits of equal values may differ from them slightly.
    return Interval(min(float(low), mean), mean, max(float(high), mean))


def caution(values: int) -> str:
    """Return what to know of an interval of so many values without a known scale; empty if they are enough."""
    if values >= FEW:
        return ""
    return (
        f"interval over {values} values without a known scale: if they are skewed, it contains the mean too rarely (of "
        "lognormal values, 95% intervals do in 70% of cases with 5 values, and in 81% with 10)"
    )


def drawn_means(samples: np.ndarray, scale: Scale | None, resamples: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw means under random weights, with one more value at either end of the scale, which is as for `mean_interval`.

    All samples, (samples, values), use the same weights, so that one matrix product serves all. Returns the means with
    the least value added, whose lower quantiles are lower limits, and with the largest value added, both (resamples,
    samples). Raises `InputError` if a value is not on the scale.
    """
    least, largest = _ends(samples, scale)
    generator, size = np.random.default_rng(seed), samples.shape[1] + 1
    rows = max(1, CHUNK // size)
    lows, highs = [], []
    for start in range(0, resamples, rows):
        weights = generator.standard_exponential((min(rows, resamples - start), size))
        weights /= weights.sum(axis=1, keepdims=True)
        means = weights[:, :-1] @ samples.T
        lows.append(means + weights[:, -1:] * least)
        highs.append(means + weights[:, -1:] * largest)
    return np.concatenate(lows), np.concatenate(highs)


def sample_of(values: Sequence[float] | np.ndarray) -> np.ndarray:
    """Return values as float64 (values,), or raise `InputError` if they have no mean."""
    sample = np.asarray(values, dtype=np.float64)
    require(sample.size, "There are no values to take a mean of: no query was measured.")
    require(np.isfinite(sample).all(), "A value is not a finite number, so there is no mean to give.")
    return sample


def _ends(samples: np.ndarray, scale: Scale | None) -> tuple[Any, Any]:
    if scale is None:
        mean = samples.mean(axis=1)
        reach = REACH * np.abs(samples - mean[:, None]).max(axis=1)
        return mean - reach, mean + reach
    least, largest = scale
    outside = samples[(samples < least - SLACK) | (samples > largest + SLACK)]
    if outside.size:
        raise InputError(
            f"The value {outside[0]:g} is not on the scale from {least:g} to {largest:g}: "
            "name the scale of the measure, or None if it has none."
        )
    return least, largest


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
    special = optional("scipy.special", "Intervals need scipy", "eval")
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
        scale: Lowest and highest value, as for `mean_interval`.
        splits: How many times to split the values at random.
        resamples: Number of resamples, as for `mean_interval`.
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
