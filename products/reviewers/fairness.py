"""Fair assignment: the worst submission is served as well as possible (Stelmakh, Shah & Singh, PeerReview4All, 2019).

The exact problem is NP-hard. As in that paper, for each number k of reviewers the largest score is found that k
reviewers of every submission can reach at once. With that as a condition, the sum of all scores is maximised. The one
whose worst submission has the largest sum is taken. It has at least k times the score of each k.
The later steps of the paper, which improve the second worst submission and so on, are left to the maximised sum.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from corpora.errors import InputError
from products.optional import optional
from products.reviewers.assignment import ScoreFloor, assign
from products.reviewers.spool import Spool

_FIRST = 50
"""Reviewers of each submission among whom the score is searched at first."""


def assign_fairly(scores: Spool, per_paper: int, room: Sequence[int], names: Sequence[str] = ()) -> np.ndarray:
    """Choose the reviewers of all submissions so that the worst sum of a submission is as large as possible.

    Args:
        scores: As of `assign`.
        per_paper: As of `assign`.
        room: As of `assign`.
        names: As of `assign`.

    Returns:
        As `assign`; an assignment of the largest sum is among those compared, so the worst is never worse than its.

    Raises:
        InputError: If there is not enough room.
        UnavailableError: If scipy is missing.
    """
    best = assign(scores, per_paper, room, names)
    best_sums = sums_of(scores, best)
    for count in range(1, per_paper + 1):
        try:
            found = assign(scores, per_paper, room, names, ScoreFloor(count, reachable(scores, count, room)))
        except InputError:  # there is room, but not with this condition
            continue
        sums = sums_of(scores, found)
        if (sums.min(), sums.sum()) > (best_sums.min(), best_sums.sum()):
            best, best_sums = found, sums
    return best


def sums_of(scores: Spool, pairs: np.ndarray) -> np.ndarray:
    """Return the sum of the scores of each submission's reviewers, float64 (submissions,)."""
    sums = np.zeros(len(scores))
    for start, block in scores.blocks():
        here = pairs[(pairs[:, 0] >= start) & (pairs[:, 0] < start + len(block))]
        np.add.at(sums, here[:, 0], block[here[:, 0] - start, here[:, 1]])
    return sums


def reachable(scores: Spool, count: int, room: Sequence[int]) -> float:
    """Return the largest score that `count` reviewers of every submission can have at once, within their room."""
    near = _FIRST
    while True:
        edges, values, least = _best(scores, near)
        levels = np.unique(values)
        low, high = -1, len(levels)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if _fits(edges[values >= levels[middle]], count, scores, room) else (low, middle)
        # Above `least`, no pair of any submission is left out, so the answer is that over all pairs.
        if near >= scores.width or (low >= 0 and levels[low] > least):
            return float(levels[max(low, 0)])
        near *= 4


def _best(scores: Spool, near: int) -> tuple[np.ndarray, np.ndarray, float]:
    """Return the nearest pairs of each submission, their scores, and the best score that was left out."""
    edges, values, least = [], [], -np.inf
    for start, block in scores.blocks():
        order = np.argsort(-block, axis=1, kind="stable")
        kept = order[:, :near]
        held = np.take_along_axis(block, kept, axis=1)
        if near < scores.width:
            least = max(least, float(np.take_along_axis(block, order[:, near : near + 1], axis=1).max()))
        allowed = np.isfinite(held)
        rows = np.broadcast_to(np.arange(start, start + len(block))[:, None], kept.shape)
        edges.append(np.stack([rows[allowed], kept[allowed]], axis=1))
        values.append(held[allowed])
    return np.concatenate(edges), np.concatenate(values), least


def _fits(edges: np.ndarray, count: int, scores: Spool, room: Sequence[int]) -> bool:
    """Return whether these pairs can give every submission `count` reviewers: a maximum flow."""
    need = "Assigning reviewers needs scipy"
    graph, sparse = optional("scipy.sparse.csgraph", need), optional("scipy.sparse", need)
    rows, columns = len(scores), scores.width
    source, sink = rows + columns, rows + columns + 1
    begin = np.concatenate([np.full(rows, source), edges[:, 0], rows + np.arange(columns)])
    end = np.concatenate([np.arange(rows), rows + edges[:, 1], np.full(columns, sink)])
    most = np.concatenate([np.full(rows, count), np.ones(len(edges)), np.asarray(room)]).astype(np.int32)
    network = sparse.csr_matrix((most, (begin, end)), shape=(sink + 1, sink + 1))
    return int(graph.maximum_flow(network, source, sink).flow_value) == rows * count
