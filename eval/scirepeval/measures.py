"""Measures of predictions and their intervals, by resampling the test items."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from corpora.errors import require
from corpora.installed import optional
from eval.statistics.interval import Interval, bootstrap_statistic, expanded_interval, mean_interval

RESAMPLES = 1_000
FEWEST_RESAMPLES = 200
ITEMS_DRAWN = 5_000_000
"""Most items drawn for one interval of a rank correlation, so that 30,000 test papers take a second."""

CELLS_DRAWN = 10_000_000
"""Most counts in memory at once."""


def classification_measure(metric: str, truth: np.ndarray, predicted: np.ndarray, level: float = 0.95) -> Interval:
    """Return a measure of classes, or of several labels an item, with its interval.

    Items with the same truth and prediction are equivalent, so resampling draws only the number of items of each kind.
    Sums follow scikit-learn: a division by zero gives 0. A class that occurs neither in a resample's truth nor in its
    predictions is left out of the average; a label is not.

    Args:
        metric: `accuracy`, or `f1`, `precision` or `recall`, of class 1 or with `_macro`, `_micro` or `_weighted`.
        truth: (items,), or (items, labels) of 0 and 1.
        predicted: The same.
        level: Level of the interval.

    Returns:
        The measure; the benchmark's own code gives it times 100.

    Raises:
        InputError: If a measure of class 1 is asked of other classes than 0 and 1.
        UnavailableError: If scipy isn't installed.
    """
    several = truth.ndim == 2
    pairs, counts = np.unique(np.column_stack((truth, predicted)), axis=0, return_counts=True)
    width = pairs.shape[1] // 2
    true, said = pairs[:, :width], pairs[:, width:]
    name, _, average = metric.partition("_")
    if name == "accuracy":
        right = np.repeat((true == said).all(axis=1), counts).astype(np.float64)
        return mean_interval(right, level=level, resamples=RESAMPLES)
    if not several:
        classes = np.unique(pairs)
        true, said = true == classes, said == classes
    if not average:
        require(
            not several and np.isin(classes, (0, 1)).all(),
            f"{metric} is of two classes, 0 and 1; for these labels ask for {metric}_macro.",
        )
        true, said = true[:, classes == 1], said[:, classes == 1]
    kinds = np.stack((true * said, said, true), axis=2).astype(np.float64)

    def measured(drawn: np.ndarray) -> np.ndarray:
        sums = np.tensordot(drawn, kinds, axes=1)
        return _averaged(name, average, sums, keep_absent=several)

    generator = np.random.default_rng(0)
    total = counts.sum()
    rows = max(1, CELLS_DRAWN // kinds.size)
    values = np.concatenate(
        [
            measured(generator.multinomial(total, counts / total, size=min(rows, RESAMPLES - start)))
            for start in range(0, RESAMPLES, rows)
        ]
    )
    return expanded_interval(float(measured(counts[None, :])[0]), values, int(total), level)


def _averaged(name: str, average: str, sums: np.ndarray, *, keep_absent: bool) -> np.ndarray:
    """Return a measure of each resample from (resamples, classes, 3) counts of hits, predictions and truths."""
    if average == "micro":
        sums = sums.sum(axis=1, keepdims=True)
    hits, said, true = np.moveaxis(sums, 2, 0)
    top, bottom = {"precision": (hits, said), "recall": (hits, true), "f1": (2 * hits, said + true)}[name]
    each = np.divide(top, bottom, out=np.zeros_like(top), where=bottom > 0)
    weights = true if average == "weighted" else np.ones_like(true)
    if average == "macro":
        weights = np.ones_like(true) if keep_absent else (said + true > 0).astype(np.float64)
    total = weights.sum(axis=1)
    return np.asarray(np.divide((each * weights).sum(axis=1), total, out=np.zeros_like(total), where=total > 0))


def regression_measure(metric: str, truth: np.ndarray, predicted: np.ndarray, level: float = 0.95) -> Interval | float:
    """Return `kendalltau` (tau-b), `pearsonr`, `r2` or `mse` of predicted numbers, (items,), with its interval.

    It is NaN without an interval where it is undefined, as a correlation with a constant is. Raises `UnavailableError`
    if scipy isn't installed.
    """
    measure = _regression(metric)
    if not np.isfinite(measure(truth, predicted)):
        return float("nan")
    count = max(FEWEST_RESAMPLES, min(RESAMPLES, ITEMS_DRAWN // len(truth)))
    return bootstrap_statistic(measure, truth, predicted, level=level, resamples=count)


def _regression(metric: str) -> Callable[[np.ndarray, np.ndarray], float]:
    if metric == "mse":
        return lambda truth, said: float(np.mean((truth - said) ** 2))
    if metric == "r2":
        return lambda truth, said: float(
            1 - ((truth - said) ** 2).sum() / spread if (spread := ((truth - truth.mean()) ** 2).sum()) else np.nan
        )
    correlation = getattr(optional("scipy.stats", "Correlations need scipy", "eval"), metric)
    return lambda truth, said: (
        float(correlation(truth, said).statistic) if np.ptp(truth) and np.ptp(said) else float("nan")
    )
