"""Active labelling: which papers a person should label next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

    from products.tags.tagger import Tagger

_POOL = 20
"""Candidates per suggestion among which different papers are chosen."""


@dataclass(frozen=True, slots=True)
class LabelSuggestion:
    """A paper to label.

    Attributes:
        id: Of the paper.
        label: That the tagger is least sure of.
        probability: Of it.
    """

    id: str
    label: str
    probability: float


def suggested(tagger: Tagger, ids: Sequence[str], vectors: np.ndarray, count: int) -> list[LabelSuggestion]:
    """Choose papers that the tagger is unsure of, and that differ from each other.

    A paper's doubt is that of the label whose probability is nearest to its threshold (uncertainty sampling: Lewis &
    Gale, "A sequential algorithm for training text classifiers", 1994). Among the papers of most doubt, each next one
    has the largest product of doubt and distance from those chosen.

    Args:
        tagger: Trained so far.
        ids: Of papers that are not labelled yet.
        vectors: Theirs, float32 (papers, dimension).
        count: How many to choose.

    Returns:
        At most so many, the first one of most doubt.
    """
    import numpy as np

    if not len(ids):
        return []
    probabilities = tagger.probabilities(vectors)
    thresholds = np.where(np.isfinite(tagger.thresholds), tagger.thresholds, 0.5)
    doubts = 1 - np.abs(probabilities - thresholds) / np.maximum(thresholds, 1 - thresholds)
    labels, doubt = doubts.argmax(axis=1), doubts.max(axis=1)
    pool = np.argsort(-doubt, kind="stable")[: _POOL * count]
    unit = vectors[pool] / np.maximum(np.linalg.norm(vectors[pool], axis=1, keepdims=True), 1e-12)
    distance = np.ones(len(pool))
    chosen: list[int] = []
    while len(chosen) < min(count, len(pool)):
        worth = doubt[pool] * distance
        worth[chosen] = -1
        chosen.append(int(worth.argmax()))
        distance = np.minimum(distance, 1 - unit @ unit[chosen[-1]])
    rows = [int(pool[place]) for place in chosen]
    return [
        LabelSuggestion(ids[row], tagger.labels[int(labels[row])], float(probabilities[row, labels[row]]))
        for row in rows
    ]
