"""An optimal assignment of reviewers to submissions: a flow of least cost, solved as a linear program; and a fair one.

Each submission gets the same number of reviewers, nobody twice, and no reviewer gets more submissions than they have
room for. Such a program has a solution in whole numbers (its matrix is totally unimodular), which the simplex method
finds. Only promising pairs are in the program at first. Its dual prices say which others could improve it; these are
added until there are none, so the result is the optimum over all pairs (column generation).

A fair assignment serves the worst submission as well as possible (Stelmakh, Shah & Singh, PeerReview4All, 2019). The
exact problem is NP-hard. As in that paper, for each number k of reviewers the largest score is found that k reviewers
of every submission can reach at once. With that as a condition, the sum of all scores is maximised. The one whose worst
submission has the largest sum is taken. It has at least k times the score of each k. The later steps of the paper,
which improve the second worst submission and so on, are left to the maximised sum.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from corpora.errors import InputError
from corpora.installed import optional
from products.reviewers.spool import Spool

_FIRST, _MORE = 20, 10
"""Pairs of a submission in the first program, and most that each round adds."""
_TOLERANCE = 1e-7
_LISTED = 5


@dataclass(frozen=True, slots=True)
class ScoreFloor:
    """A condition of a fair assignment: `count` reviewers of each submission have a score of `least` or more."""

    count: int = 0
    least: float = np.inf


@dataclass(frozen=True, slots=True)
class _Program:
    """Pairs of submissions and reviewers among which a solution is searched.

    Attributes:
        pairs: (pairs,), each the row times the number of reviewers, plus the column; in ascending order.
        values: Scores of the pairs, float64 (pairs,), from 0 to 1.
        rows: Number of submissions.
        room: How many submissions each reviewer takes.
        per_paper: Reviewers of each submission.
        floor: Least score, on the scale of the values.
    """

    pairs: np.ndarray
    values: np.ndarray
    rows: int
    room: np.ndarray
    per_paper: int
    floor: ScoreFloor

    def solve(self) -> tuple[np.ndarray, np.ndarray, Any]:
        """Return the pairs that are chosen, the reviews that each submission lacks, and the dual prices."""
        sparse = optional("scipy.sparse", "Assigning reviewers needs scipy", "products")
        optimize = optional("scipy.optimize", "Assigning reviewers needs scipy", "products")
        count, columns = len(self.pairs), len(self.room)
        row, column = np.divmod(self.pairs, columns)
        place, lacking = np.arange(count), count + np.arange(self.rows)
        all_rows = np.arange(self.rows)
        shape = (count + self.rows,)

        def matrix(values: np.ndarray, at: np.ndarray, size: int, slack: float) -> Any:
            held = (
                np.concatenate([values, np.full(self.rows, slack)]),
                (np.r_[at, all_rows % size], np.r_[place, lacking]),
            )
            return sparse.csr_matrix(held, shape=(size, *shape))

        good = (self.values >= self.floor.least).astype(float)
        # A review that nobody does costs more than any exchange along a chain of reviewers could gain.
        penalty = 2.0 * min(self.rows, columns) + 1
        found = optimize.linprog(
            np.concatenate([-self.values.astype(np.float64), np.full(self.rows, penalty)]),
            A_eq=matrix(np.ones(count), row, self.rows, 1),
            b_eq=np.full(self.rows, self.per_paper),
            A_ub=sparse.vstack([matrix(np.ones(count), column, columns, 0), matrix(-good, row, self.rows, -1)]),
            b_ub=np.concatenate([self.room, np.full(self.rows, -self.floor.count)]),
            bounds=np.stack([np.zeros(shape), np.r_[np.ones(count), np.full(self.rows, self.per_paper)]], axis=1),
            method="highs-ds",
        )
        lack = np.rint(found.x[count:]).astype(int)
        prices = (found.eqlin.marginals, found.ineqlin.marginals[:columns], found.ineqlin.marginals[columns:])
        return self.pairs[found.x[:count] > 0.5], lack, prices


def assign(
    scores: Spool, per_paper: int, room: Sequence[int], names: Sequence[str] = (), floor: ScoreFloor | None = None
) -> np.ndarray:
    """Choose the reviewers of all submissions so that the sum of their scores is as large as possible.

    Args:
        scores: (submissions, reviewers); minus infinity where a reviewer must not review a submission.
        per_paper: Reviewers of each submission.
        room: How many submissions each reviewer takes.
        names: Names of the submissions, for messages; if none, the numbers of their rows.
        floor: A condition to keep.

    Returns:
        Rows and columns of the chosen pairs, int64 (submissions * per_paper, 2), by row.

    Raises:
        InputError: If there is not enough room; says how many reviews nobody can do.
        UnavailableError: If scipy is missing.
    """
    rows, columns = len(scores), scores.width
    check_room(rows, per_paper, room)
    low, high = _bounds(scores)
    scale = high - low or 1.0
    floor = floor or ScoreFloor()
    program = _Program(
        *_promising(scores, low, scale, max(_FIRST, 3 * per_paper)),
        rows,
        np.asarray(room, dtype=np.float64),
        per_paper,
        # In the precision of the scores, since it is one of them.
        ScoreFloor(floor.count, float((np.float32(floor.least) - np.float32(low)) / np.float32(scale))),
    )
    while True:
        chosen, lack, prices = program.solve()
        pairs, values = _improving(scores, low, scale, program, prices)
        if not len(pairs):
            break
        order = np.argsort(merged := np.concatenate([program.pairs, pairs]))
        held = np.concatenate([program.values, values])[order]
        program = _Program(merged[order], held, rows, program.room, per_paper, program.floor)
    if lack.any():
        raise _short(lack, rows * per_paper, names)
    return np.stack(np.divmod(chosen, columns), axis=1)


def check_room(submissions: int, per_paper: int, room: Sequence[int]) -> None:
    """Raise `InputError` if all reviewers together can't do all reviews, or a submission needs more than there are."""
    there, needed = int(sum(room)), submissions * per_paper
    if there < needed:
        raise InputError(
            f"The reviewers have room for {there:,} reviews and {needed:,} are needed, so {needed - there:,} are "
            "missing",
            "raise <capacity>, lower <per_paper>, or add reviewers",
        )
    if (able := sum(one > 0 for one in room)) < per_paper:
        raise InputError(f"There are {able} reviewers, and each submission needs {per_paper}", "lower <per_paper>")


def _short(lack: np.ndarray, needed: int, names: Sequence[str]) -> InputError:
    rows = np.flatnonzero(lack).tolist()
    listed = ", ".join(names[row] if names else str(row + 1) for row in rows[:_LISTED])
    more = " and others" if len(rows) > _LISTED else ""
    return InputError(
        f"{int(lack.sum()):,} of {needed:,} reviews find no reviewer who has room and no conflict (submissions "
        f"{listed}{more})",
        "raise <capacity>, lower <per_paper>, or add reviewers",
    )


def _bounds(scores: Spool) -> tuple[float, float]:
    low, high = np.inf, -np.inf
    for _, block in scores.blocks():
        low = min(low, float(block.min(initial=np.inf, where=np.isfinite(block))))
        high = max(high, float(block.max()))
    return (low, high) if np.isfinite(low) else (0.0, 1.0)


def _promising(scores: Spool, low: float, scale: float, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the best pairs of each submission, and their scores from 0 to 1."""
    found = [
        _best(start, (block - np.float32(low)) / np.float32(scale), count, -1.0) for start, block in scores.blocks()
    ]
    return np.concatenate([pairs for pairs, _ in found]), np.concatenate([values for _, values in found])


def _improving(
    scores: Spool, low: float, scale: float, program: _Program, prices: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Return pairs outside the program that its prices say would improve it, and their scores."""
    of_row, of_column, of_good = prices
    found = []
    for start, block in scores.blocks():
        values = (block - np.float32(low)) / np.float32(scale)
        stop = start + len(values)
        gain = values + of_row[start:stop, None] + of_column
        gain -= np.where(values >= program.floor.least, of_good[start:stop, None], 0)
        held = program.pairs[slice(*np.searchsorted(program.pairs, [start * scores.width, stop * scores.width]))]
        gain.ravel()[held - start * scores.width] = -np.inf
        pairs, _ = _best(start, gain, _MORE, _TOLERANCE)
        found.append((pairs, values.ravel()[pairs - start * scores.width]))
    return np.concatenate([pairs for pairs, _ in found]), np.concatenate([values for _, values in found])


def _best(start: int, values: np.ndarray, count: int, above: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the pairs with the largest values of each row, of those above a bound, in ascending order."""
    columns = values.shape[1]
    if count < columns:
        best = np.sort(np.argpartition(-values, count, axis=1)[:, :count], axis=1)
    else:
        best = np.tile(np.arange(columns), (len(values), 1))
    held = np.take_along_axis(values, best, axis=1)
    kept = held > above
    pairs = (np.arange(start, start + len(values))[:, None] * columns + best)[kept]
    return pairs.astype(np.int64), held[kept]


_NEAREST = 50
"""Reviewers of each submission among whom the score is searched at first."""


def assign_fairly(scores: Spool, per_paper: int, room: Sequence[int], names: Sequence[str] = ()) -> np.ndarray:
    """Choose the reviewers of all submissions so that the worst sum of a submission is as large as possible.

    Arguments, result and errors are those of `assign`. An assignment of the largest sum is among those compared, so the
    worst is never worse than its.
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
    near = _NEAREST
    while True:
        edges, values, least = _nearest(scores, near)
        levels = np.unique(values)
        low, high = -1, len(levels)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if _fits(edges[values >= levels[middle]], count, scores, room) else (low, middle)
        # Above `least`, no pair of any submission is left out, so the answer is that over all pairs.
        if near >= scores.width or (low >= 0 and levels[low] > least):
            return float(levels[max(low, 0)])
        near *= 4


def _nearest(scores: Spool, near: int) -> tuple[np.ndarray, np.ndarray, float]:
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
    graph, sparse = optional("scipy.sparse.csgraph", need, "products"), optional("scipy.sparse", need, "products")
    rows, columns = len(scores), scores.width
    source, sink = rows + columns, rows + columns + 1
    begin = np.concatenate([np.full(rows, source), edges[:, 0], rows + np.arange(columns)])
    end = np.concatenate([np.arange(rows), rows + edges[:, 1], np.full(columns, sink)])
    most = np.concatenate([np.full(rows, count), np.ones(len(edges)), np.asarray(room)]).astype(np.int32)
    network = sparse.csr_matrix((most, (begin, end)), shape=(sink + 1, sink + 1))
    return int(graph.maximum_flow(network, source, sink).flow_value) == rows * count
