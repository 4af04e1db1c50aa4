"""Measures of classes and of a clustering against them: F1, purity and B-cubed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from corpora.installed import optional


def macro_f1(truth: np.ndarray, predicted: np.ndarray) -> float:
    """Return F1 from 0 to 1, averaged over the classes that occur in truth or predictions, as scikit-learn does.

    Both are whole numbers (items,), from 0; a prediction below 0 means none, and does not count as a class.
    """
    size = 1 + int(max(truth.max(), predicted.max()))
    right = np.bincount(truth[truth == predicted], minlength=size)
    seen = np.bincount(truth, minlength=size) + np.bincount(predicted[predicted >= 0], minlength=size)
    return float(np.mean(2 * right[seen > 0] / seen[seen > 0]))


Assignment = Sequence[Any]
"""The class or the cluster of each item, in the items' order; their names mean nothing."""


@dataclass(frozen=True, slots=True)
class BCubed:
    """B-cubed means over the items (Bagga & Baldwin 1998), and the harmonic mean of the two."""

    precision: float
    recall: float

    @property
    def f1(self) -> float:
        """F1 of the means, as S2AND takes it, not the mean of the items' own."""
        return 2 * self.precision * self.recall / (self.precision + self.recall)


def purity(truth: Assignment, clusters: Assignment) -> float:
    """Return the share of items that are of their cluster's most frequent class (Manning et al. 2008, section 16.3)."""
    contingency = optional("sklearn.metrics.cluster", "Purity needs scikit-learn", "eval").contingency_matrix
    largest = contingency(list(truth), list(clusters), sparse=True).max(axis=0)
    return int(largest.sum()) / len(truth)


def b_cubed(truth: Assignment, clusters: Assignment) -> BCubed:
    """Return B-cubed precision and recall, the means of those of each item."""
    precision, recall = b_cubed_of_each(truth, clusters)
    return BCubed(float(precision.mean()), float(recall.mean()))


def b_cubed_of_each(truth: Assignment, clusters: Assignment) -> tuple[np.ndarray, np.ndarray]:
    """Return of each item's cluster, and of its class, the share that is in both, float64 (items,)."""
    both, of_class, of_cluster = _sizes(truth, clusters)
    return both / of_cluster, both / of_class


def _sizes(truth: Assignment, clusters: Assignment) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return of each item how many are of its class and its cluster, of its class, and of its cluster.

    Only pairs that occur are counted: a full table of many small clusters would not fit in memory.
    """
    codes = np.stack([np.unique(list(labels), return_inverse=True)[1] for labels in (truth, clusters)])
    _, pair, sizes = np.unique(codes, axis=1, return_inverse=True, return_counts=True)
    of_class, of_cluster = (np.bincount(code)[code] for code in codes)
    return sizes[pair.ravel()], of_class, of_cluster
