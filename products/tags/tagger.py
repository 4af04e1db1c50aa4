"""Taggers: calibrated linear models over the vectors of papers, with a threshold for each label."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from encoders.heads import Head
from products.tags.hierarchy import Hierarchy
from products.tags.measures import TaggerMeasures
from products.trained import TrainedVectors

if TYPE_CHECKING:
    import numpy as np

TaggingMethod = Literal["labels", "names"]
"""How a tagger was made: trained on labelled papers, or from the names of labels alone."""


@dataclass(frozen=True, slots=True, eq=False)
class Tagger:
    """Tags papers by their vectors.

    Attributes:
        name: Also of the field that holds its tags.
        source: The vectors that it reads.
        head: Gives the probability of each label; Platt's calibration is part of its weights.
        thresholds: float64 (labels,); a label is given from this probability on, and never if it is infinite.
        curves: Isotonic calibration of some labels: probabilities of the head, and what they become, both ascending.
        hierarchy: A paper with a label gets all broader ones.
        most: Labels of a paper at most, beside the broader ones; 0 for any number.
        method: How it was made. Without labelled papers, scores are no probabilities.
        measures: On papers that it was not trained on; None if there are none.
        made_from: Where its labels came from, in words.
    """

    name: str
    source: TrainedVectors
    head: Head
    thresholds: np.ndarray
    curves: Mapping[str, tuple[np.ndarray, np.ndarray]] = field(default_factory=dict)
    hierarchy: Hierarchy = field(default_factory=Hierarchy)
    most: int = 0
    method: TaggingMethod = "labels"
    measures: TaggerMeasures | None = None
    made_from: str = ""

    @property
    def labels(self) -> Sequence[str]:
        """Its labels, in order."""
        return self.head.labels

    def probabilities(self, vectors: np.ndarray) -> np.ndarray:
        """Return the calibrated probability of each label, float32 (papers, labels).

        A broader label is at least as likely as each narrower one.
        """
        import numpy as np

        found = self.head.predict(vectors)
        for number, label in enumerate(self.labels):
            if label in self.curves:
                found[:, number] = np.interp(found[:, number], *self.curves[label])
        for narrow, broad in self.hierarchy.pairs(self.labels):
            np.maximum(found[:, broad], found[:, narrow], out=found[:, broad])
        return found

    def given(self, probabilities: np.ndarray) -> np.ndarray:
        """Return which labels the papers get, bool (papers, labels), from their probabilities."""
        import numpy as np

        given = probabilities >= self.thresholds
        if 0 < self.most < len(self.labels):
            least = np.partition(probabilities, -self.most, axis=1)[:, [-self.most]]
            given &= probabilities >= least
        for narrow, broad in self.hierarchy.pairs(self.labels):
            given[:, broad] |= given[:, narrow]
        return np.asarray(given)

    def tags(self, vectors: np.ndarray) -> list[tuple[str, ...]]:
        """Return the labels of each paper; none where none is likely enough."""
        given = self.given(self.probabilities(vectors))
        return [tuple(self.labels[number] for number in row.nonzero()[0]) for row in given]
