"""The stage that lets neighbours count: a paper ranks a little higher if the papers most like it rank high.

Papers that are alike tend to answer the same queries (the cluster hypothesis: van Rijsbergen, "Information Retrieval",
1979, chapter 3). So scores are smoothed over the nearest of the papers found (Diaz, "Regularizing ad hoc retrieval
scores", CIKM 2005; here one step over a graph of the nearest five), and papers like the first one gain a little, as if
the query's vector had moved towards it (Rocchio 1971). It takes no model and no further search.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from corpora.lazy import np
from search_plugin.contract.engine import Index
from search_plugin.contract.legs import NEIGHBOURS, Fused
from search_plugin.fusion.fusions import fusion_of, minmax
from search_plugin.ranking.state import SearchState

NEAREST = 5
"""Neighbours of a paper."""

POOL = 50
"""The best papers of a ranking, among which neighbours are looked for."""

FIRST = 1 / 3
"""The part of the first paper in what neighbours give."""


def smooth(state: SearchState) -> SearchState:
    """Rank the papers of several legs again by their neighbours, with the request's weight."""
    if len(state.legs) < 2:
        return state
    ranking = smoothed(state.ranking, state.index, state.request.neighbours, state.request.fusion)
    return replace(state, ranking=ranking, shown=ranking)


def smoothed(ranking: Sequence[Fused], index: Index, weight: float, fusion: str) -> Sequence[Fused]:
    """Return papers ranked by their scores mixed with what their neighbours give.

    A score becomes `(1 - weight) * score + weight * given`, where `given` is of the best 50 papers and their vectors
    (`given_by_neighbours`); it is 0 for papers after these, and for papers without a vector. What the legs gave shrinks
    alike, so a hit's parts still add up to its score. The fusion is the name of the one that gave the scores.
    """
    best = {hit.id: hit.score for hit in ranking[:POOL]}
    if not weight or len(best) < 2:
        return ranking
    vectors = index.vectors(list(best), index.schema.legs[0])
    # The vectors of a paper's passages stand for it by their mean.
    vectors = {id_: rows.mean(axis=0) if rows.ndim > 1 else rows for id_, rows in vectors.items()}
    # The others give scores of another size: those of rrf are hundredths.
    largest = 1.0 if fusion_of(fusion) is minmax else ranking[0].score
    return mixed(ranking, given_by_neighbours(best, vectors, largest), weight)


def given_by_neighbours(
    scores: Mapping[str, float], vectors: Mapping[str, np.ndarray], largest: float = 1.0
) -> dict[str, float]:
    """Return what its neighbours give each paper, by id; nothing for papers without a vector.

    Two thirds are the mean score of the paper's five nearest others, weighted by their cosines, those of 0 or less
    left out; one third is its cosine to the first paper, scaled to 0..`largest` over all. Scores are by id, best first,
    and vectors are float32 (dimension,) by id.
    """
    ids = [id_ for id_ in scores if id_ in vectors]
    count = min(NEAREST, len(ids) - 1)
    if count < 1:
        return {}
    rows = np.stack([vectors[id_] for id_ in ids])
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    rows = np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0)
    cosines = rows @ rows.T
    to_first = cosines[0] - cosines[0].min()
    np.fill_diagonal(cosines, -np.inf)
    # Ties are broken by rank, so that every engine takes the same neighbours.
    nearest = np.argsort(-cosines, axis=1, kind="stable")[:, :count]
    near = np.maximum(np.take_along_axis(cosines, nearest, axis=1), 0.0)
    own, totals = np.array([scores[id_] for id_ in ids]), near.sum(axis=1)
    means = (near * own[nearest]).sum(axis=1) / np.where(totals > 0, totals, 1.0)
    given = (1 - FIRST) * means + FIRST * largest * to_first / (to_first.max() or 1.0)
    return dict(zip(ids, given.tolist(), strict=True))


def mixed(ranking: Sequence[Fused], given: Mapping[str, float], weight: float) -> list[Fused]:
    """Return papers ranked by their scores mixed with what neighbours gave, by id, and with each part of a score."""
    order = sorted(given, key=lambda id_: (-given[id_], id_))
    parts = {
        leg: {id_: (rank, raw, (1 - weight) * value) for id_, (rank, raw, value) in of_leg.items()}
        for leg, of_leg in (ranking[0].given if ranking else {}).items()
    }
    parts[NEIGHBOURS] = {id_: (rank, given[id_], weight * given[id_]) for rank, id_ in enumerate(order, 1)}
    moved = [Fused(hit.id, (1 - weight) * hit.score + weight * given.get(hit.id, 0.0), parts) for hit in ranking]
    return sorted(moved, key=lambda hit: (-hit.score, hit.id))
