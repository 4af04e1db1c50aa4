"""Significance of the difference of two runs: two tests by scipy, Holm's correction, the effect size.

All take the differences of two runs by query, float64 (queries,), one or more and finite.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from eval.optional import optional
from eval.statistics.interval import CHUNK

EXACT = 13
"""If at most this many queries differ, all assignments (8,192 at most) are counted."""

ROUNDING, _DIGITS = 1e-12, 12
"""Relative spread below which differences count as equal up to rounding."""

NEED = "Tests of significance need scipy"


def randomization_p(differences: np.ndarray, *, resamples: int = 10_000, seed: int = 0) -> float:
    """Return the two-sided p-value of two runs being the same system, by the paired randomization test.

    If they were, then which of a query's two values belongs to which run would be chance (Smucker, Allan & Carterette,
    CIKM 2007, section 2.5): p is the share of assignments whose means differ as much as those observed, or more. Where
    few queries differ, all assignments are counted; otherwise assignments are drawn, and the observed one counts among
    them (Phipson & Smyth 2010), so p is never 0.

    Args:
        differences: Of the two runs.
        resamples: How many assignments to draw where they are too many to count.
        seed: Seed of the draws.

    Returns:
        The p-value, in (0, 1].

    Raises:
        UnavailableError: If scipy isn't installed.
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
    test = optional("scipy.stats", NEED).permutation_test
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
    """Return the two-sided p-value of two runs having the same mean over the same queries.

    The paired test of Sakai (SIGIR 2006): the differences, moved to a mean of 0, are resampled, and the studentised
    mean of each resample is compared with the one observed. The observed sample counts among the resamples
    (Davison & Hinkley 1997, section 4.2), so p is never 0.

    Args:
        differences: Of the two runs, two or more.
        resamples: How many times to draw.
        seed: Seed of the draws.

    Returns:
        The p-value, in (0, 1].

    Raises:
        UnavailableError: If scipy isn't installed.
    """
    if np.ptp(differences) <= ROUNDING * np.abs(differences).max():
        # All resamples are alike. As the differences near each other, only a resample of one query drawn n times stays
        # as extreme as what was observed: 1 in n^(n-1).
        count = float(differences.size)
        return max(count ** (1 - count), 1 / (1 + resamples)) if differences.any() else 1.0
    shifted, generator = differences - differences.mean(), np.random.default_rng(seed)
    drawn = lambda size: shifted[generator.integers(shifted.size, size=size)]  # noqa: E731
    return _drawn_p(differences, drawn, _studentised, resamples)


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
    found = optional("scipy.stats", NEED).monte_carlo_test(
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
