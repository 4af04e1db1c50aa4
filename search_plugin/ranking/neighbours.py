"""The stage that lets neighbours count: a paper ranks a little higher if the papers most like it rank high.

Papers that are alike tend to answer the same queries (the cluster hypothesis: van Rijsbergen, "Information Retrieval",
1979, chapter 3). So scores are smoothed over the nearest of the papers found (Diaz, "Regularizing ad hoc retrieval
scores", CIKM 2005; here one step over a graph of the nearest five). It takes no model and no further search.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from search_plugin.contract.engine import Index
from search_plugin.contract.legs import NEIGHBOURS, Fused
from search_plugin.ranking.state import SearchState

if TYPE_CHECKING:
    import numpy as np

NEAREST = 5
"""Neighbours of a paper."""

POOL = 100
"""The best papers of a ranking, among which neighbours are looked for."""


def smooth(state: SearchState) -> SearchState:
    """Rank the papers of several legs again by their neighbours, with the request's weight."""
    if len(state.legs) < 2:
        return state
    ranking = smoothed(state.ranking, state.index, state.request.neighbours)
    return replace(state, ranking=ranking, shown=ranking)


def smoothed(ranking: Sequence[Fused], index: Index, weight: float) -> Sequence[Fused]:
    """Return papers ranked by their scores mixed with the mean score of their neighbours.

    A score becomes `(1 - weight) * score + weight * mean`, where `mean` is of the five nearest among the best 100
    papers, weighted by their cosine; it is 0 for papers after these, and for papers without a vector. What the legs
    gave shrinks alike, so a hit's parts still add up to its score.
    """
    best = {hit.id: hit.score for hit in ranking[:POOL]}
    if not weight or len(best) < 2:
        return ranking
    vectors = index.vectors(list(best), index.schema.legs[0])
    # The vectors of a paper's passages stand for it by their mean.
    vectors = {id_: rows.mean(axis=0) if rows.ndim > 1 else rows for id_, rows in vectors.items()}
    return mixed(ranking, means_of_neighbours(best, vectors), weight)


def means_of_neighbours(scores: Mapping[str, float], vectors: Mapping[str, np.ndarray]) -> dict[str, float]:
    """Return the mean score of each paper's nearest others, weighted by cosine, by id; none for papers without one.

    Vectors are float32 (dimension,) by id. Others with a cosine of 0 or less don't count.
    """
    import numpy as np

    ids = [id_ for id_ in scores if id_ in vectors]
    count = min(NEAREST, len(ids) - 1)
    if count < 1:
        return {}
    rows = np.stack([vectors[id_] for id_ in ids])
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    rows = np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0)
    cosines = rows @ rows.T
    np.fill_diagonal(cosines, -np.inf)
    # Ties are broken by rank, so that every engine takes the same neighbours.
    nearest = np.argsort(-cosines, axis=1, kind="stable")[:, :count]
    near = np.maximum(np.take_along_axis(cosines, nearest, axis=1), 0.0)
    own = np.array([scores[id_] for id_ in ids])
    totals = near.sum(axis=1)
    means = (near * own[nearest]).sum(axis=1) / np.where(totals > 0, totals, 1.0)
    return {id_: mean for id_, mean, total in zip(ids, means.tolist(), totals.tolist(), strict=True) if total > 0}


def mixed(ranking: Sequence[Fused], means: Mapping[str, float], weight: float) -> list[Fused]:
    """Return papers ranked by their scores mixed with their neighbours' means, with what each part gave."""
    order = sorted(means, key=lambda id_: (-means[id_], id_))
    given = {
        leg: {id_: (rank, raw, (1 - weight) * value) for id_, (rank, raw, value) in parts.items()}
        for leg, parts in (ranking[0].given if ranking else {}).items()
    }
    given[NEIGHBOURS] = {id_: (rank, means[id_], weight * means[id_]) for rank, id_ in enumerate(order, 1)}
    moved = [Fused(hit.id, (1 - weight) * hit.score + weight * means.get(hit.id, 0.0), given) for hit in ranking]
    return sorted(moved, key=lambda hit: (-hit.score, hit.id))
