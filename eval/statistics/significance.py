"""Significance of the difference of two runs: two tests, Holm's correction, the effect size.

All take the differences of two runs by query, float64 (queries,), one or more and finite.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from eval.statistics.interval import CHUNK

EXACT = 16
"""If at most this many queries differ, all assignments (65,536 at most) are counted."""

ROUNDING = 1e-12
"""Relative spread below which differences count as equal up to rounding."""

Extreme = Callable[[np.random.Generator, tuple[int, int]], np.ndarray]
"""Draws samples of a shape (samples, queries), and says which are as extreme as the observed one."""


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
    """
    changed = differences[_changed(differences)]
    if not changed.size:
        return 1.0
    # Sums that differ only by rounding are equal.
    observed = abs(float(changed.sum())) - ROUNDING * float(np.abs(changed).sum())
    if changed.size <= EXACT:
        return float(np.mean(np.abs(_every_sum(changed)) >= observed))
    return _drawn_p(
        lambda generator, size: np.abs(changed.sum() - 2 * ((generator.random(size) < 0.5) @ changed)) >= observed,
        changed.size,
        resamples,
        seed,
    )


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
    """
    if np.ptp(differences) <= ROUNDING * np.abs(differences).max():
        # All resamples are alike. As the differences near each other, only a resample of one query drawn n times stays
        # as extreme as what was observed: 1 in n^(n-1).
        count = float(differences.size)
        return max(count ** (1 - count), 1 / (1 + resamples)) if differences.any() else 1.0
    observed = _studentised(differences[None, :])[0]
    shifted = differences - differences.mean()
    return _drawn_p(
        lambda generator, size: _studentised(shifted[generator.integers(shifted.size, size=size)]) >= observed,
        shifted.size,
        resamples,
        seed,
    )


def holm(p_values: Sequence[float]) -> tuple[float, ...]:
    """Return p-values corrected for their number by Holm's step-down procedure (Holm 1979).

    Rejecting those at or below alpha keeps the probability of any false rejection at or below alpha, however the tests
    depend on each other.

    Args:
        p_values: Of all tests of one family.

    Returns:
        The adjusted p-values in the same order, 1 at most.
    """
    values = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(values, kind="stable")
    adjusted = np.empty_like(values)
    adjusted[order] = np.maximum.accumulate(values[order] * np.arange(values.size, 0, -1)).clip(max=1.0)
    return tuple(adjusted.tolist())


def effect_size(differences: np.ndarray) -> float | None:
    """Return the mean difference in standard deviations of the differences (Cohen's d for pairs).

    Args:
        differences: Of the two runs.

    Returns:
        The size; 0 for equal runs, and None where it is undefined: with one query, or all differing by the same.
    """
    if not differences.any():
        return 0.0
    # Scale to at most 1, because the squares of very small numbers would underflow; the ratio stays the same.
    scaled = differences / np.abs(differences).max()
    return None if np.ptp(scaled) <= ROUNDING else float(scaled.mean() / scaled.std(ddof=1))


def _changed(differences: np.ndarray) -> np.ndarray:
    """Return which queries differ; the value of others is the same under either assignment."""
    return np.asarray(np.abs(differences) > ROUNDING * np.abs(differences).max())


def _drawn_p(extreme: Extreme, queries: int, resamples: int, seed: int) -> float:
    """Return the share of draws that are as extreme as the observed one, which counts among them."""
    generator, rows = np.random.default_rng(seed), max(1, CHUNK // queries)  # as many at a time as fit in memory
    sizes = ((min(rows, resamples - start), queries) for start in range(0, resamples, rows))
    return (1 + sum(int(np.count_nonzero(extreme(generator, size))) for size in sizes)) / (1 + resamples)


def _every_sum(differences: np.ndarray) -> np.ndarray:
    """Sums under all assignments of signs with the first sign fixed; the other sums are their negatives."""
    sums = differences[:1]
    for difference in differences[1:]:
        sums = np.concatenate([sums + difference, sums - difference])
    return sums


def _studentised(samples: np.ndarray) -> np.ndarray:
    """|mean| / standard deviation of each row, infinite for equal values other than 0; sqrt(n) cancels out."""
    size, spread = np.abs(samples.mean(axis=1)), np.ptp(samples, axis=1)
    deviation = np.where(spread > 0, samples.std(axis=1, ddof=1), 0.0)
    return np.asarray(np.divide(size, deviation, out=np.where(size > 0, np.inf, 0.0), where=deviation > 0))
