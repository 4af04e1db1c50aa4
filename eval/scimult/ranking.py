"""Every query against every candidate, exactly, a block of queries at a time, so that the scores fit in memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from corpora.errors import InputError
from eval.statistics.interval import mean_interval

if TYPE_CHECKING:
    from encoders.formats import Similarity
    from eval.embedder import Vectors
    from eval.statistics.interval import Interval

BLOCK = 16 << 20
"""Scores made at a time: 64 MB of float32."""

DRAWS = 200_000_000
"""Values that an interval may draw: a mean over hundreds of thousands needs fewer resamples than one over fifty."""


def closeness(queries: np.ndarray, candidates: np.ndarray, similarity: Similarity) -> np.ndarray:
    """Return the score of each pair, float32 (queries, candidates), the best largest.

    Args:
        queries: float32 (queries, dimension).
        candidates: float32 (candidates, dimension).
        similarity: For l2, scores are minus the squared distances.

    Returns:
        The scores.

    Raises:
        InputError: If the two have vectors of different lengths.
    """
    if queries.shape[1] != candidates.shape[1]:
        raise InputError(
            f"Some vectors have {queries.shape[1]} values, and those they are compared with {candidates.shape[1]}: "
            "take both from models that go together."
        )
    if similarity == "cosine":
        queries, candidates = _unit(queries), _unit(candidates)
    scores: np.ndarray = queries @ candidates.T
    if similarity == "l2":
        scores = 2 * scores - _squares(candidates)[None, :] - _squares(queries)[:, None]
    return scores


def score_blocks(
    queries: np.ndarray, candidates: np.ndarray, similarity: Similarity, block: int = BLOCK
) -> Iterator[tuple[int, np.ndarray]]:
    """Yield the scores of some queries with all candidates, and the row of the first, until all have had their turn.

    Args:
        queries: As for `closeness`.
        candidates: As for `closeness`.
        similarity: As for `closeness`.
        block: Scores to make at a time; one query's are made together even if they are more.

    Yields:
        Row of the first query, and float32 (some queries, candidates).
    """
    if similarity == "cosine":  # once, not for every block
        candidates, queries, similarity = _unit(candidates), _unit(queries), "dot"
    rows = max(1, block // max(1, len(candidates)))
    for start in range(0, len(queries), rows):
        yield start, closeness(queries[start : start + rows], candidates, similarity)


def top(scores: np.ndarray, depth: int) -> np.ndarray:
    """Return the positions of the best scores, best first; of equal ones the earlier goes first.

    Candidates in `tie_order` are thereby ranked as trec_eval ranks them.

    Args:
        scores: One query's.
        depth: How many to return at most.

    Returns:
        The positions.
    """
    if depth >= len(scores):
        order: np.ndarray = np.argsort(-scores, kind="stable")
        return order
    least = np.partition(scores, len(scores) - depth)[len(scores) - depth]
    enough = np.flatnonzero(scores >= least)
    best: np.ndarray = enough[np.argsort(-scores[enough], kind="stable")][:depth]
    return best


def tie_order(vectors: Vectors, ids: Sequence[str]) -> list[str]:
    """Return the ids that have a vector, in the order in which trec_eval ranks what is tied: descending.

    Args:
        vectors: Vectors by id.
        ids: Those wanted.

    Returns:
        The ids.

    Raises:
        InputError: If none of them has a vector.
    """
    found = sorted((name for name in ids if name in vectors.rows), reverse=True)
    if not found:
        raise InputError("None of the candidates has a vector: the embeddings belong to other papers or labels.")
    return found


def recall(ranking: Sequence[str], relevant: frozenset[str], cutoff: int) -> float:
    """Return the share of the relevant that stands among the first."""
    return sum(name in relevant for name in ranking[:cutoff]) / len(relevant)


def interval_over(values: Sequence[float]) -> Interval:
    """Return the mean with its interval, of at least 1,000 resamples and 10,000 where that is quick."""
    return mean_interval(values, resamples=min(10_000, max(1_000, DRAWS // max(1, len(values)))))


def _unit(vectors: np.ndarray) -> np.ndarray:
    unit: np.ndarray = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    return unit


def _squares(vectors: np.ndarray) -> np.ndarray:
    squares: np.ndarray = np.einsum("ij,ij->i", vectors, vectors)
    return squares
