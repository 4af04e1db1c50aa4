"""Fusion settings fitted on judged queries, and an honest estimate of what they are worth: nested cross-validation.

Legs are searched once; a grid point is a fusion of what they brought, measured on every query. Choosing among points by
the same queries that measure the choice flatters it (Varma & Simon, "Bias in error estimation when using
cross-validation for model selection", BMC Bioinformatics 7:91, 2006). So each outer fold is measured by the point that
the other folds choose, and these choose by inner folds of their own.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from corpora.errors import InputError
from eval.measures.metrics import evaluate
from eval.trec.runs import Run
from search_plugin.fusion.registry import DEFAULT_FUSION, FUSIONS
from search_plugin.tuned import RANKED, Tuned, fusion_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from eval.trec.judgments import Qrels
    from search_plugin.fusion.combine import Legs

STEPS = 10
"""Weights go in tenths: finer ones make no difference that so few queries could show."""

RANK_CONSTANTS = (10, 20, 60, 100)
"""The paper's 60, and what stresses the first ranks more or less."""

FOLDS = 5
DEPTH = 100
"""Hits of a fused ranking that are measured."""


@dataclass(frozen=True, slots=True)
class Folds:
    """How queries are parted, by a seed."""

    outer: int = FOLDS
    inner: int = FOLDS
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Fit:
    """What tuning found.

    Attributes:
        chosen: The settings all queries choose.
        estimate: By query, its value under the settings that the other outer folds chose: what tuning is worth.
        default: By query, its value under the settings a search has without tuning.
        flattered: The mean of `chosen` on the queries that chose it, for comparison only.
        by_fold: What each outer fold's other folds chose.
    """

    chosen: Tuned
    estimate: Mapping[str, float]
    default: Mapping[str, float]
    flattered: float
    by_fold: tuple[Tuned, ...]


def grid(legs: Sequence[str], *, steps: int = STEPS, constants: Sequence[int] = RANK_CONSTANTS) -> tuple[Tuned, ...]:
    """Return the settings to try: every fusion, every weighting in steps that sum to 1, every rank constant.

    Args:
        legs: Names of the legs.
        steps: Into how many parts the weights are cut.
        constants: For reciprocal rank fusion.

    Returns:
        The simplest first: the default with equal weights, then by how far the weights are from equal.

    Raises:
        InputError: If there are fewer than two legs.
    """
    if len(legs) < 2:
        raise InputError("There is nothing to tune with fewer than two legs; use a model with vectors.")
    equal = tuple(1 / len(legs) for _ in legs)
    weightings = {tuple(part / steps for part in parts) for parts in _compositions(steps, len(legs))} | {equal}
    names = [DEFAULT_FUSION, *(name for name in FUSIONS if name != DEFAULT_FUSION)]
    points = [
        (math.dist(weights, equal), rank, constant or 0, Tuned(name, dict(zip(legs, weights, strict=True)), constant))
        for weights in sorted(weightings)
        for rank, name in enumerate(names)
        for constant in (constants if name == RANKED else (None,))
    ]
    return tuple(point[-1] for point in sorted(points, key=lambda point: (round(point[0], 9), *point[1:3])))


def measure_grid(points: Sequence[Tuned], legs: Mapping[str, Legs], qrels: Qrels, measure: str) -> NDArray[np.float64]:
    """Return the value of every query (column, in the order of the judgments) under every point (row).

    Args:
        points: The settings.
        legs: By query, each leg's hits, as `eval.retrieval.protocol.collect_legs` found them.
        qrels: The judgments.
        measure: As `eval.measures.metrics.parse_measure` takes it.

    Returns:
        float64 (points, queries).

    Raises:
        InputError: If the measure is unknown or no query is judged.
    """
    rows = []
    for point in points:
        values = measure_point(point, legs, qrels, measure)
        rows.append([values[query] for query in qrels.gains])
    return np.array(rows)


def measure_point(point: Tuned, legs: Mapping[str, Legs], qrels: Qrels, measure: str) -> dict[str, float]:
    """Return the value of every judged query under one setting; parameters and errors as of `measure_grid`."""
    fuse = fusion_of(point.name)
    rankings = {
        query: [(hit.id, hit.score) for hit in fuse(of_query, point.weights)[:DEPTH]]
        for query, of_query in legs.items()
    }
    [values] = evaluate(Run("tuning", rankings), qrels, [measure]).per_query.values()
    return dict(values)


def fit(
    points: Sequence[Tuned], values: NDArray[np.float64], queries: Sequence[str], folds: Folds | None = None
) -> Fit:
    """Choose settings, and estimate by nested cross-validation what the way of choosing is worth.

    Args:
        points: The settings, the simplest first.
        values: Of every query under every point, as `measure_grid` gives them.
        queries: Ids, in the order of the columns.
        folds: How to part the queries.

    Returns:
        The choice and its worth.

    Raises:
        InputError: If there are too few queries for the folds.
    """
    folds = folds or Folds()
    fewest = 2 * folds.outer
    if folds.outer < 2 or folds.inner < 2 or len(queries) < fewest:
        raise InputError(
            f"{folds.outer} outer and {folds.inner} inner folds need 2 folds each and {fewest} judged queries at the "
            f"least, not {len(queries)}; give more judgments or fewer folds."
        )
    estimate: dict[str, float] = {}
    by_fold = []
    everything = np.arange(len(queries))
    for held_out in _parted(everything, folds.outer, folds.seed):
        others = np.setdiff1d(everything, held_out)
        best = choose(values[:, others], folds.inner, folds.seed + 1)
        by_fold.append(points[best])
        estimate |= {queries[column]: float(values[best, column]) for column in held_out}
    best = choose(values, folds.inner, folds.seed + 1)
    return Fit(
        points[best],
        {query: estimate[query] for query in queries},
        dict(zip(queries, values[0].tolist(), strict=True)),
        float(values[best].mean()),
        tuple(by_fold),
    )


def choose(values: NDArray[np.float64], folds: int, seed: int) -> int:
    """Return the first point that is not worse than the best by more than a standard error.

    The rule of one standard error (Breiman et al., "Classification and regression trees", 1984, section 3.4.3), on
    paired differences: by each fold, how much worse a point is than the best one. It keeps the simpler settings where
    queries can't tell them from the best, and so does not follow noise on a flat top.

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


def _parted(columns: NDArray[np.int64], folds: int, seed: int) -> list[NDArray[np.int64]]:
    return np.array_split(np.random.default_rng(seed).permutation(columns), folds)


def _compositions(total: int, parts: int) -> Iterator[tuple[int, ...]]:
    """Yield every way to write a total as so many whole numbers from 0 up, in order."""
    if parts == 1:
        yield (total,)
        return
    for first in range(total + 1):
        for rest in _compositions(total - first, parts - 1):
            yield (first, *rest)
