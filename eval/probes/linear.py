"""Linear probes: how well a linear model reads labels off fixed vectors (SciDocs; SciRepEval, appendix B.1).

They are scikit-learn's own estimators and its own grid search, given float64 rows at once so that no fit converts them
again. Only processes run in parallel: liblinear draws from one generator for all threads of a process.

Softmax regression by Adam, an epoch at a time, is for probes that prescribe just that. scikit-learn's own goes on to
convergence, and its networks start from random weights, which so few steps at so small a rate would not outgrow.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from corpora.errors import InputError, require
from corpora.installed import installed_version, optional

DECAY, SQUARED_DECAY, EPSILON = 0.9, 0.999, 1e-8
"""Adam's own constants (Kingma & Ba 2015, algorithm 1)."""


@dataclass(frozen=True, slots=True, eq=False)
class SoftmaxRegression:
    """Weights (dimension + 1, classes); the last row belongs to a constant."""

    weights: np.ndarray

    def logits(self, vectors: np.ndarray) -> np.ndarray:
        """Return the log-odds of each class up to a constant, (rows, classes)."""
        return np.asarray(vectors @ self.weights[:-1] + self.weights[-1])

    def predict(self, vectors: np.ndarray) -> np.ndarray:
        """Return the likeliest class of each row, int64 (rows,), of vectors (rows, dimension)."""
        return np.asarray(self.logits(vectors).argmax(axis=1))


def train_epochs(
    vectors: np.ndarray, classes: np.ndarray, *, epochs: int, batch: int, rate: float, seed: int = 0
) -> Iterator[SoftmaxRegression]:
    """Train from weights of 0, without a penalty, and yield the model as it is after each epoch.

    The vectors are (rows, dimension), the classes whole numbers from 0, (rows,). Each epoch takes the rows in an order
    of its own, `batch` of them a step; `rate` is Adam's learning rate.
    """
    rows = np.column_stack([vectors, np.ones(len(vectors))])
    weights = np.zeros((rows.shape[1], int(classes.max()) + 1))
    mean, square = np.zeros_like(weights), np.zeros_like(weights)
    generator, step = np.random.default_rng(seed), 0
    for _ in range(epochs):
        order = generator.permutation(len(rows))
        for start in range(0, len(rows), batch):
            chosen, step = order[start : start + batch], step + 1
            gradient = _gradient(rows[chosen], classes[chosen], weights)
            mean = DECAY * mean + (1 - DECAY) * gradient
            square = SQUARED_DECAY * square + (1 - SQUARED_DECAY) * gradient**2
            scale = np.sqrt(square / (1 - SQUARED_DECAY**step)) + EPSILON
            weights = weights - rate * mean / (1 - DECAY**step) / scale
        yield SoftmaxRegression(weights)


def _gradient(rows: np.ndarray, classes: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the gradient of the mean cross-entropy."""
    odds = rows @ weights
    share = np.exp(odds - odds.max(axis=1, keepdims=True))
    share /= share.sum(axis=1, keepdims=True)
    share[np.arange(len(rows)), classes] -= 1
    return np.asarray(rows.T @ share / len(rows))


CLASSIFIER_GRID = tuple(10.0**power for power in range(-2, 3))
"""SciRepEval's C of LinearSVC."""

REGRESSOR_GRID = tuple(10.0**power for power in range(-4, 3))
"""SciRepEval's C of LinearSVR, and SciDocs' of LinearSVC."""

NEED = "Probes need scikit-learn"
FOLDS = 3
SEED = 42

ONE_CORE = 250_000
"""Numbers to train on, times labels, up to which starting processes takes longer than it saves."""


@dataclass(frozen=True, slots=True, eq=False)
class Predictions:
    """What a probe said of the test rows.

    Attributes:
        labels: (rows,), or (rows, labels) of 0 and 1 where several labels may be true of one.
        solver: Library that made them, with its version: another library's LinearSVC gives other numbers.
        chosen: The C of the final model, or of each label's.
        not_converged: Final models that stopped at the limit of iterations.
    """

    labels: np.ndarray
    solver: str
    chosen: tuple[float, ...]
    not_converged: int = 0


def classify(
    train: np.ndarray,
    labels: np.ndarray,
    test: np.ndarray,
    *,
    grid: Sequence[float] = CLASSIFIER_GRID,
    jobs: int | None = None,
    intercept: bool = True,
) -> Predictions:
    """Tell which of two or more classes each test row is of, by LinearSVC.

    Args:
        train: (rows, dimension).
        labels: One class a training row.
        test: (rows, dimension).
        grid: Values of C to choose from by accuracy in cross-validation, stratified and not shuffled; with a single
            one there's no search.
        jobs: Processes; if None, one for little data and one a core for much.
        intercept: Whether the planes between classes may lie off the origin.

    Returns:
        The predictions.

    Raises:
        InputError: If there are fewer than two classes, or fewer training rows of each than folds.
        UnavailableError: If scikit-learn isn't installed.
    """
    svm = optional("sklearn.svm", NEED, "eval")
    estimator = svm.LinearSVC(loss="squared_hinge", fit_intercept=intercept, random_state=SEED)
    return _predict(estimator, train, labels, test, grid, jobs)


def regress(
    train: np.ndarray,
    targets: np.ndarray,
    test: np.ndarray,
    *,
    grid: Sequence[float] = REGRESSOR_GRID,
    jobs: int | None = None,
) -> Predictions:
    """Predict the number that belongs to each test row, by LinearSVR.

    Rows are (rows, dimension), and targets (rows,). `grid` holds values of C to choose from by R2 in cross-validation,
    in the order of the rows; with a single one there's no search. Raises `InputError` if there are fewer training rows
    than folds, and `UnavailableError` if scikit-learn isn't installed.
    """
    return _predict(
        optional("sklearn.svm", NEED, "eval").LinearSVR(random_state=SEED), train, targets, test, grid, jobs
    )


def classify_multi_label(
    train: np.ndarray,
    labels: np.ndarray,
    test: np.ndarray,
    *,
    grid: Sequence[float] = CLASSIFIER_GRID,
    jobs: int | None = None,
) -> Predictions:
    """Predict which labels are true of each test row, by a LinearSVC with a grid search of its own for each label.

    SciRepEval leaves these models without a seed; here they have one, so that a second run gives the same numbers.
    Labels are (rows, labels) of 0 and 1; a label that all or none of the rows have is said of all or none. Each of the
    processes (`jobs`) has a label at a time. Other arguments are those of `classify`. Raises `InputError` if a label is
    too rare to be learnt in cross-validation, and `UnavailableError` if scikit-learn isn't installed.
    """
    single = optional("sklearn.svm", NEED, "eval").LinearSVC(loss="hinge", max_iter=10_000, random_state=SEED)
    one_vs_rest = optional("sklearn.multiclass", NEED, "eval").OneVsRestClassifier
    rows = _rows(train)
    fitted = _fit(
        one_vs_rest(_searched(single, grid, 1), n_jobs=jobs or _jobs(rows.size * labels.shape[1])), rows, labels
    )
    # A label without a choice has a constant in place of a model.
    final = [getattr(part, "best_estimator_", part) for part in fitted.estimators_]
    return _predictions(
        fitted, test, f"one-vs-rest {_named(single)}", [one for one in final if hasattr(one, "n_iter_")]
    )


def _predict(
    estimator: Any, train: np.ndarray, labels: np.ndarray, test: np.ndarray, grid: Sequence[float], jobs: int | None
) -> Predictions:
    rows = _rows(train)
    fitted = _fit(_searched(estimator, grid, jobs or _jobs(rows.size)), rows, labels)
    return _predictions(fitted, test, _named(estimator), [getattr(fitted, "best_estimator_", fitted)])


def _predictions(fitted: Any, test: np.ndarray, solver: str, final: Sequence[Any]) -> Predictions:
    stopped = sum(int(np.max(one.n_iter_) >= one.max_iter) for one in final)
    chosen = tuple(float(one.C) for one in final)
    return Predictions(np.asarray(fitted.predict(_rows(test))), solver, chosen, stopped)


def _searched(estimator: Any, grid: Sequence[float], jobs: int) -> Any:
    if len(grid) == 1:
        return estimator.set_params(C=grid[0])
    search = optional("sklearn.model_selection", NEED, "eval").GridSearchCV
    return search(estimator, {"C": list(grid)}, cv=FOLDS, n_jobs=jobs)


def _fit(model: Any, rows: np.ndarray, labels: np.ndarray) -> Any:
    require(len(rows), "There is no labelled paper with a vector to train a probe on.")
    try:
        with warnings.catch_warnings():
            # Models that don't converge are counted, and folds that can't be scored aren't chosen.
            warnings.simplefilter("ignore")
            return model.fit(rows, labels)
    except ValueError as error:
        reason = " ".join(str(error).split()).rstrip(".")
        raise InputError(f"A probe can't be trained on these {len(rows):,} labelled papers: {reason[:300]}.") from error


def _rows(matrix: np.ndarray) -> np.ndarray:
    """Return what liblinear works on, so that it is made once and not for every fit."""
    return np.ascontiguousarray(matrix, dtype=np.float64)


def _jobs(numbers: int) -> int:
    return -1 if numbers > ONE_CORE else 1


def _named(estimator: Any) -> str:
    return f"{type(estimator).__name__}({estimator.loss}) of scikit-learn {installed_version('scikit-learn')}"
