"""Whether two runs differ by more than chance: the randomization test, Holm's correction, the size of an effect."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from corpora.errors import InputError
from eval.statistics.bootstrap import ROUNDING
from eval.statistics.interval import CHUNK

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

EXACT = 16
"""Up to so many queries that differ, all their assignments are gone through: 65,536 at most."""


def randomization_p(
    values_a: Sequence[float], values_b: Sequence[float], *, resamples: int = 10_000, seed: int = 0
) -> float:
    """Return the two-sided p-value of two runs being the same system, by the paired randomization test.

    If they were, then which of a query's two values belongs to which run would be chance (Smucker, Allan & Carterette,
    CIKM 2007, section 2.5): p is the share of assignments whose means differ as much as those observed, or more. Where
    few queries differ, all assignments are counted; otherwise assignments are drawn, and the observed one counts among
    them (Phipson & Smyth 2010), so p is never 0.

    Args:
        values_a: One value per query.
        values_b: The other run's values of the same queries in the same order.
        resamples: How many assignments to draw where they are too many to count.
        seed: Seed of the draws.

    Returns:
        The p-value, in (0, 1].

    Raises:
        InputError: If the lengths differ, there are no queries, or a value is not finite.
    """
    differences = paired_differences(values_a, values_b)
    if resamples < 1:
        raise InputError(f"The number of resamples must be 1 or more, not {resamples}.")
    # Where both have the same value, either assignment leaves the sum as it is.
    changed = differences[np.abs(differences) > ROUNDING * np.abs(differences).max()]
    if not changed.size:
        return 1.0
    # Sums that are equal but for rounding are equal.
    observed = abs(float(changed.sum())) - ROUNDING * float(np.abs(changed).sum())
    if changed.size <= EXACT:
        return float(np.mean(np.abs(_every_sum(changed)) >= observed))
    generator = np.random.default_rng(seed)
    rows, extreme = max(1, CHUNK // changed.size), 0
    for start in range(0, resamples, rows):
        swapped = generator.random((min(rows, resamples - start), changed.size)) < 0.5
        sums = changed.sum() - 2 * (swapped @ changed)
        extreme += int(np.count_nonzero(np.abs(sums) >= observed))
    return (1 + extreme) / (1 + resamples)


def holm(p_values: Sequence[float]) -> tuple[float, ...]:
    """Return p-values corrected for how many there are, by Holm's step-down procedure (Holm 1979).

    Rejecting those at or below alpha keeps the probability of any false rejection at or below alpha, however the tests
    depend on each other.

    Args:
        p_values: Of all tests of one family.

    Returns:
        The adjusted p-values in the same order, 1 at most.

    Raises:
        InputError: If one is not between 0 and 1.
    """
    values = np.asarray(p_values, dtype=np.float64)
    if not ((values >= 0) & (values <= 1)).all():
        raise InputError("A p-value lies between 0 and 1.")
    order = np.argsort(values, kind="stable")
    adjusted = np.empty_like(values)
    adjusted[order] = np.maximum.accumulate(values[order] * np.arange(values.size, 0, -1)).clip(max=1.0)
    return tuple(adjusted.tolist())


def effect_size(values_a: Sequence[float], values_b: Sequence[float]) -> float | None:
    """Return by how many standard deviations of the differences b is better than a (Cohen's d for pairs).

    Args:
        values_a: One value per query.
        values_b: The other run's values of the same queries in the same order.

    Returns:
        The size; 0 for equal runs, and None where it is undefined: with one query, or all differing by the same.

    Raises:
        InputError: If the lengths differ, there are no queries, or a value is not finite.
    """
    differences = -paired_differences(values_a, values_b)
    if not differences.any():
        return 0.0
    # To 1 at most, since the squares of the smallest numbers would vanish; the ratio stays the same.
    differences = differences / np.abs(differences).max()
    if np.ptp(differences) <= ROUNDING:
        return None
    return float(differences.mean() / differences.std(ddof=1))


def paired_differences(values_a: Sequence[float], values_b: Sequence[float]) -> NDArray[np.float64]:
    """Return a - b by query.

    Args:
        values_a: One value per query.
        values_b: The other run's values of the same queries in the same order.

    Returns:
        The differences.

    Raises:
        InputError: If the lengths differ, there are no queries, or a value is not finite.
    """
    if len(values_a) != len(values_b):
        raise InputError(f"The runs were measured on {len(values_a)} and {len(values_b)} queries; compare the same.")
    if not len(values_a):
        raise InputError("There is nothing to compare: no query was measured.")
    differences = np.subtract(values_a, values_b, dtype=np.float64)
    if not np.isfinite(differences).all():
        raise InputError("A value is not a finite number, so the runs can't be compared.")
    return differences


def _every_sum(differences: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sums under all assignments of signs, the first sign fixed: the others mirror these."""
    sums = differences[:1]
    for difference in differences[1:]:
        sums = np.concatenate([sums + difference, sums - difference])
    return sums
