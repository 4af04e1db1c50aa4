"""Measures of a clustering against true classes: purity, normalised mutual information, B-cubed."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from corpora.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

Labels = Sequence[Hashable]
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


def purity(truth: Labels, clusters: Labels) -> float:
    """Return the share of items that are of their cluster's most frequent class (Manning et al. 2008, section 16.3)."""
    joint, _, of_cluster = _table(truth, clusters)
    largest = np.zeros(of_cluster.max() + 1, dtype=np.int64)
    np.maximum.at(largest, of_cluster, joint)
    return float(largest.sum() / joint.sum())


def normalized_mutual_information(truth: Labels, clusters: Labels) -> float:
    """Return the mutual information over the mean of the two entropies; 1 where neither side divides anything."""
    joint, of_class, of_cluster = _table(truth, clusters)
    share = joint / joint.sum()
    classes, groups = np.bincount(of_class, weights=share), np.bincount(of_cluster, weights=share)
    entropies = -float(classes @ np.log(classes)) - float(groups @ np.log(groups))
    if entropies == 0:
        return 1.0
    mutual = float(share @ np.log(share / (classes[of_class] * groups[of_cluster])))
    return max(0.0, 2 * mutual / entropies)


def b_cubed(truth: Labels, clusters: Labels) -> BCubed:
    """Return B-cubed precision and recall: of each item's cluster and class, the share that is in both, averaged."""
    joint, of_class, of_cluster = _table(truth, clusters)
    total, squared = joint.sum(), joint.astype(np.float64) ** 2
    in_cluster = np.bincount(of_cluster, weights=joint)[of_cluster]
    in_class = np.bincount(of_class, weights=joint)[of_class]
    return BCubed(float((squared / in_cluster).sum() / total), float((squared / in_class).sum() / total))


def _table(truth: Labels, clusters: Labels) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Count the items of each pair of class and cluster that occurs; return counts, classes and clusters of the pairs.

    Only pairs that occur, as a full table of many small clusters would not fit in memory.
    """
    if len(truth) != len(clusters) or not len(truth):
        raise InputError(f"There are {len(truth)} true classes for {len(clusters)} clustered items; give one for each.")
    pairs = np.array([_codes(truth), _codes(clusters)])
    (of_class, of_cluster), joint = np.unique(pairs, axis=1, return_counts=True)
    return joint, of_class, of_cluster


def _codes(labels: Labels) -> list[int]:
    numbers: dict[Hashable, int] = {}
    return [numbers.setdefault(label, len(numbers)) for label in labels]
