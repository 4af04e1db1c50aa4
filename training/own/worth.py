"""Measures whether a format of one's own is worth using: against linear models on what the index has already.

All learn from the same papers, and are measured on the same other papers, which nothing was trained or chosen by.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from corpora.errors import require
from eval.optional import optional
from eval.probes.nested import TargetKind, Targets, learn, macro_f1_of
from eval.statistics.interval import Interval, bootstrap_statistic
from products.tags.hierarchy import Hierarchy
from products.tags.labels import NO, YES, LabelledPapers
from products.tags.training import TaggerOptions, train_tagger
from training.own.papers import FieldTask

if TYPE_CHECKING:
    from products.trained import TrainedVectors

OWN, INDEXED = "the new format", "the index's vectors"
RIDGE, TAGS = "ridge regression", "ses tags"
"""The linear models that are compared: each on the new vectors, and on those of the index."""

_KINDS: Mapping[FieldTask, TargetKind] = {"label": "class", "labels": "labels", "number": "number"}
_NEED = "Measuring a format needs scikit-learn"

_MOST_FITTED = 150_000
"""Papers times labels that a tagger is trained on for the report, which takes some minutes; if there are more, some
papers are drawn."""


@dataclass(frozen=True, slots=True, eq=False)
class LabelledVectors:
    """Papers with the truth about them and their vectors.

    Attributes:
        truth: bool (papers, labels), or float64 (papers,) of numbers.
        indexed: Vectors of the index for search, float32 (papers, dimension).
        tagged: Those that a tagger on the index would read, float32 (papers, dimension).
        own: Vectors of the new format, float32 (papers, dimension); perhaps only of the first papers, as many as there
            was time for.
    """

    truth: np.ndarray
    indexed: np.ndarray
    tagged: np.ndarray
    own: np.ndarray


@dataclass(frozen=True, slots=True)
class FormatWorth:
    """How a format of one's own compares with what the index has already.

    Attributes:
        measure: `macro F1`, or `Kendall's tau`.
        labels: Number of labels; 0 for numbers.
        train: Papers that the linear models on the index's vectors learned from.
        test: Papers that measured.
        scores: The measure of each linear model, with its interval over papers.
        own: The best of them on the new format.
        other: The best of them on the index's vectors.
        gain: How much more the first of these two reaches, with its paired interval over papers.
    """

    measure: str
    labels: int
    train: int
    test: int
    scores: Mapping[str, Interval]
    own: str
    other: str
    gain: Interval

    @property
    def worth(self) -> bool:
        """Whether the new format is better than what the index has already, and not by chance."""
        return self.gain.low > 0

    @property
    def sentence(self) -> str:
        """Whether the format is worth using, and by how much, in a line."""
        gain, before = self.gain, self.scores[self.other].mean
        amount = f"{gain.mean:+.3f} [{gain.low:+.3f}, {gain.high:+.3f}] beside the {before:.3f} of {self.other}"
        if self.worth:
            return f"Worth using: {self.measure} {amount}."
        why = "it is worse" if gain.high < 0 else "the difference may be chance"
        return f"Not worth using: {self.measure} {amount}; {why}, and a linear model on them is enough."

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        return {**asdict(self), "worth": self.worth, "sentence": self.sentence}


def measured_worth(
    train: LabelledVectors, test: LabelledVectors, task: FieldTask, source: TrainedVectors
) -> FormatWorth:
    """Compare linear models on the new format and on what the index has, by papers that only measure.

    `source` says what `tagged` is. Raises `InputError` if there are too few papers, and `UnavailableError` if
    scikit-learn isn't installed.
    """
    names = tuple(f"{number:06}" for number in range(train.truth[0].size))
    values = train.truth.reshape(len(train.truth), -1).astype(np.float64)
    targets = Targets(_KINDS[task], names, values)
    vectors = {OWN: (train.own, test.own), INDEXED: (train.indexed, test.indexed)}
    said = {_on(RIDGE, name): _learned(*of, targets) for name, of in vectors.items()}
    if task == "number":
        return _compared("Kendall's tau", _kendall, test.truth, said, 0, len(values))
    vectors[INDEXED] = train.tagged, test.tagged
    said |= {_on(TAGS, name): _tagged(*of, train.truth, source) for name, of in vectors.items()}
    return _compared("macro F1", macro_f1_of, test.truth, said, len(names), len(values))


def _on(model: str, vectors: str) -> str:
    return f"{model} on {vectors}"


def _compared(
    measure: str,
    statistic: Callable[[np.ndarray, np.ndarray], float],
    truth: np.ndarray,
    said: Mapping[str, np.ndarray],
    labels: int,
    train: int,
) -> FormatWorth:
    scores = {name: bootstrap_statistic(statistic, truth, one) for name, one in said.items()}
    own, other = (
        max((name for name in said if name.endswith(vectors)), key=lambda name: scores[name].mean)
        for vectors in (OWN, INDEXED)
    )
    gain = bootstrap_statistic(
        lambda true, one, two: statistic(true, two) - statistic(true, one), truth, said[other], said[own]
    )
    return FormatWorth(measure, labels, train, len(truth), scores, own, other, gain)


def _kendall(truth: np.ndarray, said: np.ndarray) -> float:
    return float(optional("scipy.stats", _NEED).kendalltau(truth, said).statistic)


def _learned(train: np.ndarray, test: np.ndarray, targets: Targets) -> np.ndarray:
    """Return what a ridge regression says of the test papers, in the form of their truth."""
    known = targets.of(np.arange(len(train)))
    said = learn(np.asarray(train, np.float64), known, np.asarray(test, np.float64)).said
    return said[:, 0] if targets.kind == "number" else said > 0


def _tagged(rows: np.ndarray, test: np.ndarray, truth: np.ndarray, source: TrainedVectors) -> np.ndarray:
    """Return which labels each test paper gets from a tagger, bool (papers, labels); it may lack rare ones."""
    # The papers are in an order that was drawn.
    some = slice(min(len(rows), max(1_000, _MOST_FITTED // truth.shape[1])))
    names = tuple(f"{number:06}" for number in range(truth.shape[1]))
    judged = np.where(truth[some], YES, NO).astype(np.int8)
    papers = LabelledPapers(tuple(map(str, range(len(judged)))), names, judged, {}, ())
    options = TaggerOptions(fewest=2, held_out=0.0)
    tagger = train_tagger("measured", source, rows[some], papers, Hierarchy(), options)
    said = np.zeros((len(test), len(names)), dtype=bool)
    said[:, [int(label) for label in tagger.labels]] = tagger.given(tagger.probabilities(test))
    return said


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


def common_labels(values: Sequence[Any], fewest: int) -> list[str]:
    """Return the labels that enough papers have, in order; `InputError` if there are fewer than two."""
    counts: dict[str, int] = {}
    for value in values:
        for label in {value} if isinstance(value, str) else set(value):
            counts[label] = counts.get(label, 0) + 1
    found = sorted(label for label, count in counts.items() if count >= fewest)
    require(
        len(found) > 1,
        f"{len(found)} labels have {fewest} papers or more, and a format needs two",
        "name another field by <labels>",
    )
    return found
