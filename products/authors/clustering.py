"""Clusters of the papers under one author's name, by average linkage of their vectors, as S2AND's clusterer does."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from products.optional import optional
from search_plugin.words.names import same_person

FURTHEST = 2.0
"""The largest distance by cosine: that of papers under names that contradict each other."""


def cut_block(units: np.ndarray, thresholds: Sequence[float], names: Sequence[str] = ()) -> list[list[int]]:
    """Cluster the papers of a block: clusters are joined while the mean distance between them is below a threshold.

    Args:
        units: Vectors of length one, (papers, dimension).
        thresholds: Distances by cosine.
        names: Of the author, as each paper writes it; papers whose names contradict each other, such as `Kim, Jiho` and
            `Kim, Mina`, are as far apart as possible. None if names are not to be compared.

    Returns:
        For each threshold, the number of each paper's cluster.

    Raises:
        UnavailableError: If scipy is missing.
    """
    if len(units) < 2:
        return [[0] * len(units) for _ in thresholds]
    hierarchy = optional("scipy.cluster.hierarchy", "Clustering needs scipy")
    distances = np.clip(1 - units @ units.T, 0, None)
    if names:
        spelled = sorted(set(names))
        place = np.array([spelled.index(name) for name in names])
        apart = np.array([[not same_person(one, other) for other in spelled] for one in spelled])
        distances[apart[np.ix_(place, place)]] = FURTHEST
    tree = hierarchy.linkage(distances[np.triu_indices(len(units), 1)], "average")
    return [hierarchy.fcluster(tree, threshold, "distance").tolist() for threshold in thresholds]
