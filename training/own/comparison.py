"""Measures whether a format of one's own is worth using: against linear models on what the index has already.

All learn from the same papers, and are measured on the same other papers, which nothing was trained or chosen by. The
format is trained several times, each with another seed, and an interval is over papers and over these runs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean, stdev
from typing import Any

import numpy as np

from corpora.installed import optional
from eval.probes.nested import TargetKind, Targets, learn, macro_f1_of
from eval.statistics.interval import Interval, bootstrap_statistic
from products.tags.hierarchy import Hierarchy
from products.tags.labels import NO, YES, LabelledPapers
from products.tags.training import TaggerOptions, train_tagger
from products.trained import TrainedVectors
from training.own.papers import FieldTask

OWN, INDEXED = "the new format", "the index's vectors"
RIDGE, TAGS = "ridge regression", "ses tags"
"""The linear models that are compared: each on the new vectors, and on those of the index."""

_KINDS: Mapping[FieldTask, TargetKind] = {"label": "class", "labels": "labels", "number": "number"}
_NEED = "Measuring a format needs scikit-learn"

_LEVEL = 0.95

Statistic = Callable[[np.ndarray, np.ndarray], float]
"""A measure: a function of the truth and of predictions."""

_MOST_FITTED = 150_000
"""Papers times labels that a tagger is trained on for the report, which takes some minutes; if there are more, some
papers are drawn."""


@dataclass(frozen=True, slots=True, eq=False)
class LabelledVectors:
    """Papers with the truth about them and their vectors.

    Attributes:
        truth: bool (papers, labels), or float64 (papers,) of numbers.
        plain: Vectors that ridge regression reads, float32 (papers, dimension).
        tagged: Those that a tagger reads, float32 (papers, dimension).
        texts: Title and abstract of each, which a tagger reads too; without them, it learns from vectors alone.
    """

    truth: np.ndarray
    plain: np.ndarray
    tagged: np.ndarray
    texts: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class FormatComparison:
    """How a format of one's own compares with what the index has already.

    Attributes:
        measure: `macro F1`, or `Kendall's tau`.
        labels: Number of labels; 0 for numbers.
        train: Papers that the linear models learned from.
        test: Papers that measured.
        runs: How often the format was trained.
        scores: The measure of each linear model, the mean of the runs, with its interval over papers and runs.
        own: The best of them on the new format.
        other: The best of them on the index's vectors.
        gain: How much more the first of these two reaches, with its interval over papers, paired, and over runs.
    """

    measure: str
    labels: int
    train: int
    test: int
    runs: int
    scores: Mapping[str, Interval]
    own: str
    other: str
    gain: Interval

    @property
    def is_better(self) -> bool:
        """Whether the new format is better than what the index has already, and not by chance."""
        return self.gain.low > 0

    @property
    def sentence(self) -> str:
        """Whether the format is worth using, and by how much, in a line."""
        gain, before = self.gain, self.scores[self.other].mean
        amount = f"{gain.mean:+.3f} [{gain.low:+.3f}, {gain.high:+.3f}] in {self.runs} runs"
        amount += f" beside the {before:.3f} of {self.other}"
        if self.is_better:
            return f"Worth using: {self.measure} {amount}."
        why = "it is worse" if gain.high < 0 else "the difference may be chance"
        return f"Not worth using: {self.measure} {amount}; {why}, and a linear model on them is enough."

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        return {**asdict(self), "worth": self.is_better, "sentence": self.sentence}


def predictions(
    train: LabelledVectors, test: LabelledVectors, task: FieldTask, source: TrainedVectors, language: str
) -> dict[str, np.ndarray]:
    """Return what each linear model predicts of some papers, in the form of their truth, after learning from others.

    `source` says what `tagged` is, and `language` is that of the texts. Raises `InputError` if there are too few
    papers, and `UnavailableError` if scikit-learn isn't installed.
    """
    names = tuple(f"{number:06}" for number in range(train.truth[0].size))
    values = train.truth.reshape(len(train.truth), -1).astype(np.float64)
    predicted = {RIDGE: _ridge_predictions(train.plain, test.plain, Targets(_KINDS[task], names, values))}
    return predicted if task == "number" else predicted | {TAGS: _tagger_predictions(train, test, source, language)}


def comparison_of(
    truth: np.ndarray, indexed: Mapping[str, np.ndarray], own: Sequence[Mapping[str, np.ndarray]], train: int
) -> FormatComparison:
    """Compare what linear models predict by the index's vectors, and by those of each run of the new format.

    All of them learned from the same papers, so many as `train`.
    """
    number = truth.ndim == 1
    measure, statistic = ("Kendall's tau", _kendall) if number else ("macro F1", macro_f1_of)
    predicted = {f"{model} on {OWN}": [one[model] for one in own] for model in indexed}
    predicted |= {f"{model} on {INDEXED}": [one] for model, one in indexed.items()}
    predicted = dict(sorted(predicted.items(), key=lambda one: list(indexed).index(one[0].partition(" on ")[0])))
    scores = {name: mean_over_runs(statistic, truth, runs) for name, runs in predicted.items()}
    best, other = (
        max((name for name in predicted if name.endswith(vectors)), key=lambda name: scores[name].mean)
        for vectors in (OWN, INDEXED)
    )
    gain = mean_over_runs(statistic, truth, predicted[best], *predicted[other])
    labels = 0 if number else truth.shape[1]
    return FormatComparison(measure, labels, train, len(truth), len(own), scores, best, other, gain)


def mean_over_runs(
    statistic: Statistic, truth: np.ndarray, runs: Sequence[np.ndarray], beside: np.ndarray | None = None
) -> Interval:
    """Return the mean of a measure over the predictions of several runs, with an interval over papers and over runs.

    `beside` has the predictions of another model, whose measure is subtracted. Papers are drawn by a bootstrap, and the
    runs have Student's interval. The distances of their limits from the mean are added as squares, as those of
    independent estimates (Zou and Donner, Statistics in Medicine 2008). `statistic` takes the truth and predictions.
    """
    others = [] if beside is None else [beside]

    def mean_of(true: np.ndarray, *predicted: np.ndarray) -> float:
        values = [statistic(true, one) for one in predicted]
        return fmean(values[: len(runs)]) - sum(values[len(runs) :])

    papers = bootstrap_statistic(mean_of, truth, *runs, *others)
    reach = 0.0
    if len(runs) > 1:
        student = optional("scipy.special", _NEED, "eval").stdtrit(len(runs) - 1, (1 + _LEVEL) / 2)
        reach = float(student) * stdev(statistic(truth, one) for one in runs) / math.sqrt(len(runs))
    low, high = (math.hypot(limit - papers.mean, reach) for limit in (papers.low, papers.high))
    return Interval(papers.mean - low, papers.mean, papers.mean + high)


def _kendall(truth: np.ndarray, predicted: np.ndarray) -> float:
    return float(optional("scipy.stats", _NEED, "eval").kendalltau(truth, predicted).statistic)


def _ridge_predictions(train: np.ndarray, test: np.ndarray, targets: Targets) -> np.ndarray:
    """Return what a ridge regression predicts of the test papers, in the form of their truth."""
    known = targets.of(np.arange(len(train)))
    predicted = learn(np.asarray(train, np.float64), known, np.asarray(test, np.float64)).said
    return predicted[:, 0] if targets.kind == "number" else predicted > 0


def _tagger_predictions(
    train: LabelledVectors, test: LabelledVectors, source: TrainedVectors, language: str
) -> np.ndarray:
    """Return which labels each test paper gets from a tagger, bool (papers, labels); it may lack rare ones."""
    # The papers are in an order that was drawn.
    some = slice(min(len(train.truth), max(1_000, _MOST_FITTED // train.truth.shape[1])))
    names = tuple(f"{number:06}" for number in range(train.truth.shape[1]))
    judged = np.where(train.truth[some], YES, NO).astype(np.int8)
    papers = LabelledPapers(tuple(map(str, range(len(judged)))), names, judged, {}, ())
    options = TaggerOptions(fewest=2, held_out=0.0)
    rows, texts = train.tagged[some], train.texts[some]
    tagger = train_tagger("measured", source, rows, papers, Hierarchy(), options, texts=texts, language=language)
    predicted = np.zeros((len(test.truth), len(names)), dtype=bool)
    predicted[:, [int(label) for label in tagger.labels]] = tagger.given(tagger.probabilities(test.tagged, test.texts))
    return predicted


def truth_of(values: Sequence[Any], task: FieldTask, labels: Sequence[str]) -> np.ndarray:
    """Return the values of papers as `LabelledVectors` has them; labels in the order of the columns."""
    if task == "number":
        return np.array(values, dtype=np.float64)
    column = {label: number for number, label in enumerate(labels)}
    truth = np.zeros((len(values), len(labels)), dtype=bool)
    for row, value in enumerate(values):
        for label in [value] if isinstance(value, str) else value:
            if label in column:
                truth[row, column[label]] = True
    return truth
