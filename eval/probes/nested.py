"""Linear probes that choose everything by nested cross-validation, so that no vectors win by their spread alone.

A probe with a fixed C, or with few steps of training, favours vectors whose numbers happen to have the size that suits
it. Here the strength of the penalty, and whether each number of a vector is brought to the same mean and deviation, are
chosen by cross-validation within the papers to learn from. Ridge regression is solved exactly, so it always converges.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from corpora.errors import require
from corpora.installed import optional

TargetKind = Literal["class", "labels", "number"]
"""What papers have: one class each, any number of labels, or a number."""

INNER_FOLDS = 3
PENALTIES = tuple(10.0 ** (power / 2) for power in range(6, -9, -1))
"""Penalties of ridge regression, relative to the mean square of a number of the vectors; the strongest first."""

COSTS = tuple(10.0**power for power in range(-4, 3))
"""The support vector machine's C, likewise relative."""

MOST_ITERATIONS = 5_000
NEED = "Probes need scikit-learn"


@dataclass(frozen=True, slots=True, eq=False)
class Targets:
    """What a probe predicts of papers.

    Attributes:
        kind: Whether a paper has one class, any number of labels, or a number.
        names: Name of each column.
        values: float64 (papers, columns): 0 or 1 for classes and labels, one column for a number.
    """

    kind: TargetKind
    names: tuple[str, ...]
    values: np.ndarray

    def of(self, rows: np.ndarray) -> Targets:
        """Return the targets of some papers."""
        return Targets(self.kind, self.names, self.values[rows])


def class_targets(classes: Sequence[str]) -> Targets:
    """Return the targets of papers that have one class each; raise `InputError` if there are fewer than two classes."""
    names = sorted(set(classes))
    require(len(names) >= 2, "The papers have fewer than two classes: there is nothing to tell apart.")
    place = {name: column for column, name in enumerate(names)}
    return Targets("class", tuple(names), np.eye(len(names))[[place[name] for name in classes]])


def label_targets(labels: Sequence[Sequence[str]], names: Sequence[str]) -> Targets:
    """Return the targets of papers that have any of some labels; others of their labels are ignored."""
    require(names, "There is no label to predict.")
    held = [set(own) for own in labels]
    return Targets("labels", tuple(names), np.array([[float(name in own) for name in names] for own in held]))


def number_targets(numbers: Sequence[float] | np.ndarray) -> Targets:
    """Return the targets of papers that have a number each."""
    return Targets("number", ("number",), np.asarray(numbers, dtype=np.float64)[:, None])


@dataclass(frozen=True, slots=True)
class Setting:
    """How a probe learns: its penalty or C, and whether the numbers of vectors are standardised."""

    strength: float
    standardised: bool


@dataclass(frozen=True, slots=True, eq=False)
class Learnt:
    """What a probe said, and how it was chosen.

    Attributes:
        said: float64 (papers to predict, columns): 0 or 1, or the number.
        setting: The setting chosen.
        at_end: Whether its strength is the first or last of those tried.
        not_converged: Final models that stopped at the limit of iterations.
    """

    said: np.ndarray
    setting: Setting
    at_end: bool
    not_converged: int


Solver = Callable[[np.ndarray, np.ndarray, np.ndarray, Sequence[float]], tuple[np.ndarray, int]]
"""From rows to learn from, their targets, rows to predict and strengths, to scores (strengths, rows, columns), and the
number of models that didn't converge."""


def learn(train: np.ndarray, targets: Targets, test: np.ndarray, *, probe: str = "ridge", seed: int = 0) -> Learnt:
    """Learn targets by a linear model, and predict those of other papers.

    The setting is the best in cross-validation of the papers to learn from: by F1, the mean over labels, or by the mean
    squared error of numbers. A label is said of a paper whose score reaches the label's threshold, which is the best by
    F1 in the same cross-validation; a class, if its score is the highest.

    `train` is (papers, dimension) with these targets, and `test` (papers to predict, dimension). The probe is `ridge`
    (exact) or `svm` (squared hinge); numbers need `ridge`. Raises `InputError` if there are too few papers to divide
    into folds, which the seed decides, and `UnavailableError` if scikit-learn isn't installed.
    """
    solve, strengths = PROBES[probe]
    scored: list[np.ndarray] = []
    settings: list[Setting] = []
    for standardised in (False, True):
        held = np.empty((len(strengths), *targets.values.shape))
        for fit, validate in folds(targets, INNER_FOLDS, seed):
            rows, others = _scaled(train[fit], train[validate], standardised=standardised)
            held[:, validate] = solve(rows, targets.values[fit], others, strengths)[0]
        scored.extend(held)
        settings += [Setting(strength, standardised) for strength in strengths]
    values = [_value(targets, scores) for scores in scored]
    best = int(np.argmax(values))  # the first of equal ones: the simplest
    rows, others = _scaled(train, test, standardised=settings[best].standardised)
    found, stopped = solve(rows, targets.values, others, [settings[best].strength])
    said = _said(targets, scored[best], found[0])
    return Learnt(said, settings[best], settings[best].strength in (strengths[0], strengths[-1]), stopped)


def folds(targets: Targets, count: int, seed: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield the rows to learn from and the rows to predict of each fold; classes have equal shares of each.

    Raises `InputError` if there are fewer papers than folds.
    """
    selection = optional("sklearn.model_selection", NEED, "eval")
    rows = len(targets.values)
    require(rows >= count, f"{rows:,} papers can't be divided into {count} parts; give more.")
    classes = targets.values.argmax(axis=1)
    enough = targets.kind == "class" and targets.values.sum(axis=0).max() >= count
    by = selection.StratifiedKFold if enough else selection.KFold
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a class may have fewer papers than there are folds
        yield from by(count, shuffle=True, random_state=seed).split(classes, classes)


def ridge(
    rows: np.ndarray, targets: np.ndarray, others: np.ndarray, penalties: Sequence[float]
) -> tuple[np.ndarray, int]:
    """Return the scores of ridge regression with an intercept, for each of some penalties, solved exactly."""
    middle, level = rows.mean(axis=0), targets.mean(axis=0)
    centred, others, wanted = rows - middle, others - middle, targets - level
    wide = centred.shape[1] > len(rows)
    # The smaller of the two products has all that is needed.
    squares, axes = np.linalg.eigh(centred @ centred.T if wide else centred.T @ centred)
    squares = np.maximum(squares, 0)
    unit = max(float(squares.sum()) / centred.shape[1], np.finfo(float).tiny)
    onto = others @ (centred.T @ axes if wide else axes)
    along = axes.T @ (wanted if wide else centred.T @ wanted)
    scores = [onto @ (along / (squares + penalty * unit)[:, None]) + level for penalty in penalties]
    return np.stack(scores), 0


def support_vectors(
    rows: np.ndarray, targets: np.ndarray, others: np.ndarray, costs: Sequence[float]
) -> tuple[np.ndarray, int]:
    """Return the scores of a linear support vector machine for each target, of 0 and 1, and for each C."""
    machine = optional("sklearn.svm", NEED, "eval").LinearSVC
    unit = max(float(np.square(rows - rows.mean(axis=0)).mean()), np.finfo(float).tiny)
    scores, stopped = np.empty((len(costs), len(others), targets.shape[1])), 0
    for column, wanted in enumerate(targets.T > 0):
        if wanted.all() or not wanted.any():
            scores[:, :, column] = 1.0 if wanted.all() else -1.0
            continue
        for place, cost in enumerate(costs):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # models that don't converge are counted
                fitted = machine(C=cost / unit, max_iter=MOST_ITERATIONS, random_state=0).fit(rows, wanted)
            stopped += int(fitted.n_iter_ >= MOST_ITERATIONS)
            scores[place, :, column] = fitted.decision_function(others)
    return scores, stopped


PROBES: Mapping[str, tuple[Solver, Sequence[float]]] = {"ridge": (ridge, PENALTIES), "svm": (support_vectors, COSTS)}
"""The linear models, each with the strengths that it tries."""


def macro_f1_of(truth: np.ndarray, said: np.ndarray) -> float:
    """Return F1 from 0 to 1, averaged over the columns that truth or predictions, 0 and 1, have."""
    both, either = (truth * said).sum(axis=0), truth.sum(axis=0) + said.sum(axis=0)
    return float(np.mean(2 * both[either > 0] / either[either > 0])) if (either > 0).any() else 0.0


def _value(targets: Targets, scores: np.ndarray) -> float:
    if targets.kind == "number":
        return -float(np.square(scores - targets.values).mean())
    return macro_f1_of(targets.values, _said(targets, scores, scores))


def _said(targets: Targets, held: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Return what scores say, by thresholds that suit the scores of papers held out."""
    if targets.kind == "number":
        return scores
    if targets.kind == "class":
        said: np.ndarray = np.eye(scores.shape[1])[scores.argmax(axis=1)]
        return said
    return np.asarray(scores >= _thresholds(targets.values, held), dtype=np.float64)


def _thresholds(truth: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Return the threshold of each column that is the best by F1."""
    order = np.argsort(-scores, axis=0, kind="stable")
    right = np.cumsum(np.take_along_axis(truth, order, axis=0), axis=0)
    f1 = 2 * right / (np.arange(1, len(truth) + 1)[:, None] + truth.sum(axis=0))
    best: Any = np.take_along_axis(np.take_along_axis(scores, order, axis=0), f1.argmax(axis=0)[None], axis=0)
    return np.asarray(best[0])


def _scaled(rows: np.ndarray, others: np.ndarray, *, standardised: bool) -> tuple[np.ndarray, np.ndarray]:
    if not standardised:
        return rows, others
    middle, spread = rows.mean(axis=0), rows.std(axis=0)
    spread[spread == 0] = 1.0
    return (rows - middle) / spread, (others - middle) / spread
