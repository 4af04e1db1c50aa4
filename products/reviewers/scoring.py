"""Scores of all reviewers for all submissions, in blocks: memory does not grow with the venue."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from corpora.errors import InputError
from encoders.text_encoder import Done, ignore
from products.reviewers.factors import MatchFactor
from products.reviewers.pool import ReviewerPool
from products.reviewers.rules import AGGREGATES, sum_of_reciprocal_ranks
from products.reviewers.spool import ROWS, Spool

Combine = Callable[[np.ndarray], np.ndarray]
"""A function from scores by factor, (factors, submissions, reviewers), to one score, (submissions, reviewers)."""

LEAD = "semantic"
"""The factor that leads where there are several."""

BESIDE = 0.2
"""Weight of any other factor beside that of `LEAD`, 1; chosen on the gold standard by leaving out each reviewer in turn
(`python -m benchmarks.reviewers weights`)."""

CONFLICT = -np.inf
"""The score of a reviewer who must not review a submission."""


@dataclass(frozen=True, slots=True)
class VenueScores:
    """Scores of reviewers for submissions by factor and combined, (submissions, reviewers).

    Combined scores are `CONFLICT` where a reviewer must not review a submission.
    """

    factors: Mapping[str, Spool]
    combined: Spool


def score_venue(
    factors: Mapping[str, MatchFactor],
    pool: ReviewerPool,
    submissions: int,
    folder: Path,
    *,
    aggregate: str = "top3",
    combine: str = "scores",
    conflicts: Mapping[int, Collection[int]] | None = None,
    done: Done = ignore,
) -> VenueScores:
    """Score all reviewers for all submissions, in files of the folder.

    A reviewer's score by a factor is the mean of the three papers most like the submission (`top3`), or the likest one
    (`max`). `ranks` adds 1 / rank over the factors, divided by their number (UniPR, section 3.3, equation 10). `scores`
    is the weighted mean over the factors of the scores in standard deviations from the mean of all pairs, with the
    weights of `weights_of`; a factor alone keeps its scores. `conflicts` are the columns of reviewers who must not
    review a submission, by its row; `done` receives how many more submissions were scored. Raises `InputError` if there
    is no such aggregate or combination, or no factor.
    """
    if aggregate not in AGGREGATES or combine not in COMBINATIONS or not factors:
        raise InputError(
            "These factors can't be joined",
            f"give one or more factors, <aggregate> as one of {', '.join(AGGREGATES)}, and <combine> as one of "
            f"{', '.join(COMBINATIONS)}",
        )
    spools = {name: Spool(folder / f"{name}.scores", len(pool.reviewers)) for name in factors}
    sums, squares = np.zeros((2, len(factors)))
    for start in range(0, submissions, ROWS):
        block = slice(start, min(start + ROWS, submissions))
        for place, (name, factor) in enumerate(factors.items()):
            scores = _block(factor, block, pool, AGGREGATES[aggregate])
            spools[name].append(scores)
            sums[place] += scores.sum(dtype=np.float64)
            squares[place] += np.square(scores, dtype=np.float64).sum()
        done(block.stop - block.start)
    pairs = submissions * len(pool.reviewers)
    means = sums / pairs
    spreads = np.sqrt(np.maximum(squares / pairs - means**2, 0))
    combined = Spool(folder / "combined.scores", len(pool.reviewers))
    join = COMBINATIONS[combine](means, spreads, weights_of(tuple(factors)))
    for start in range(0, submissions, ROWS):
        stop = min(start + ROWS, submissions)
        rows = join(np.stack([spool.read(start, stop) for spool in spools.values()]))
        for row in range(start, stop):
            rows[row - start, list((conflicts or {}).get(row, ()))] = CONFLICT
        combined.append(rows)
    return VenueScores(spools, combined)


def weights_of(factors: Sequence[str]) -> np.ndarray:
    """Return the weights of factors, float64 (factors,): `BESIDE` for those beside the leading one, otherwise 1."""
    return np.array([1.0 if name == LEAD or LEAD not in factors else BESIDE for name in factors])


def _block(
    factor: MatchFactor, submissions: slice, pool: ReviewerPool, aggregate: Callable[[np.ndarray], np.ndarray]
) -> np.ndarray:
    count = submissions.stop - submissions.start
    scores = np.empty((count, len(pool.reviewers)), np.float32)
    for block in pool.blocks():
        reviewers = block.reviewers.stop - block.reviewers.start
        similarities = factor.similarities(submissions, block.papers)
        scores[:, block.reviewers] = aggregate(similarities.reshape(count, reviewers, -1))
    return scores


def _by_ranks(means: np.ndarray, spreads: np.ndarray, weights: np.ndarray) -> Combine:  # noqa: ARG001 - UniPR's ranks have no scale and no weight
    def join(by_factor: np.ndarray) -> np.ndarray:
        ranked = [sum_of_reciprocal_ranks(by_factor[:, row]) for row in range(by_factor.shape[1])]
        return np.array(ranked) / len(by_factor)

    return join


def _by_scores(means: np.ndarray, spreads: np.ndarray, weights: np.ndarray) -> Combine:
    scale = np.where(spreads > 0, spreads, 1)

    def join(by_factor: np.ndarray) -> np.ndarray:
        if len(by_factor) == 1:
            return np.asarray(by_factor[0])
        standard = (by_factor - means[:, None, None]) / scale[:, None, None]
        return np.asarray(np.average(standard, axis=0, weights=weights))

    return join


COMBINATIONS: Mapping[str, Callable[[np.ndarray, np.ndarray, np.ndarray], Combine]] = {
    "ranks": _by_ranks,
    "scores": _by_scores,
}
"""The ways to combine factors; each takes the mean, the standard deviation and the weight of every factor."""
