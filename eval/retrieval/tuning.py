"""Settings of search fitted on judged queries, and an honest estimate of what they are worth: nested cross-validation.

Measuring settings on the queries that chose them gives too high a value (Varma & Simon, "Bias in error estimation when
using cross-validation for model selection", BMC Bioinformatics 7:91, 2006). So each outer fold is measured by the
settings that the other folds choose, and these choose by inner folds of their own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from corpora.errors import require
from eval.retrieval.stages import TuningStage
from search_plugin.fusion.search_settings import SearchSettings

FOLDS = 5


@dataclass(frozen=True, slots=True)
class Folds:
    """How queries are divided into folds, by a seed."""

    outer: int = FOLDS
    inner: int = FOLDS
    seed: int = 0

    def check(self, queries: int) -> None:
        """Raise `InputError` if there are too few queries for the folds."""
        fewest = 2 * self.outer
        require(
            self.outer >= 2 and self.inner >= 2 and queries >= fewest,
            f"{self.outer} outer and {self.inner} inner folds need 2 folds each and {fewest} judged queries at the "
            f"least, not {queries}; give more judgments or fewer folds.",
        )


@dataclass(frozen=True, slots=True)
class Fit:
    """What tuning found.

    Attributes:
        chosen: The settings all queries choose.
        estimate: By query, its value under the settings that the other outer folds chose: what tuning is worth.
        default: By query, its value under the settings a search has without tuning.
        flattered: The mean of `chosen` on the queries that chose it, which is too high; for comparison only.
        by_fold: For each outer fold, the settings that the other folds chose.
    """

    chosen: SearchSettings
    estimate: Mapping[str, float]
    default: Mapping[str, float]
    flattered: float
    by_fold: tuple[SearchSettings, ...]


def fit(
    start: SearchSettings,
    stages: Sequence[TuningStage],
    measured: Callable[[SearchSettings], np.ndarray],
    queries: Sequence[str],
    folds: Folds | None = None,
) -> Fit:
    """Choose settings, and estimate the value of this way of choosing by nested cross-validation.

    Args:
        start: What a search does without tuning.
        stages: What to try, each from the best of the one before.
        measured: The value of every query under some settings, float64 (queries,).
        queries: Ids, in the order of these values.
        folds: How to divide the queries.

    Returns:
        The choice and its estimated value.

    Raises:
        InputError: If there are too few queries for the folds.
    """
    folds = folds or Folds()
    folds.check(len(queries))

    def best_for(columns: np.ndarray) -> SearchSettings:
        best = start
        for stage in stages:
            points = stage(best)
            values = np.array([measured(point)[columns] for point in points])
            best = points[choose(values, folds.inner, folds.seed + 1)]
        return best

    everything, estimate = np.arange(len(queries)), np.empty(len(queries))
    parts = _parted(everything, folds.outer, folds.seed)
    by_fold = tuple(best_for(np.setdiff1d(everything, held_out)) for held_out in parts)
    for held_out, best in zip(parts, by_fold, strict=True):
        estimate[held_out] = measured(best)[held_out]
    chosen = best_for(everything)
    return Fit(
        chosen,
        dict(zip(queries, estimate.tolist(), strict=True)),
        dict(zip(queries, measured(start).tolist(), strict=True)),
        float(measured(chosen).mean()),
        by_fold,
    )


def choose(values: np.ndarray, folds: int, seed: int) -> int:
    """Return the first point that is not worse than the best by more than a standard error.

    The rule of one standard error (Breiman et al., "Classification and regression trees", 1984, section 3.4.3), on
    paired differences: by each fold, how much worse a point is than the best one. It keeps the simpler settings if
    queries show no difference from the best, and so does not follow noise.

    Args:
        values: Of every query (column) under every point (row), the simplest point first.
        folds: Into how many parts the queries are cut.
        seed: Of the cut.

    Returns:
        The row.
    """
    parts = _parted(np.arange(values.shape[1]), min(folds, values.shape[1]), seed)
    means = np.stack([values[:, part].mean(axis=1) for part in parts], axis=1)
    best = int(np.argmax(means.mean(axis=1)))
    behind = means[best] - means
    allowed = behind.std(axis=1, ddof=1) / math.sqrt(behind.shape[1]) if behind.shape[1] > 1 else 0.0
    return int(np.argmax(behind.mean(axis=1) <= allowed))


def _parted(columns: np.ndarray, folds: int, seed: int) -> list[np.ndarray]:
    return np.array_split(np.random.default_rng(seed).permutation(columns), folds)
