"""Exact nearest papers in memory: every document's vector against every query's, by blocked matrix products."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from search_plugin.legs import Scored

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from encoders.formats import Similarity
    from eval.embedder import Vectors

BLOCK = 8192
"""Documents at a time."""

QUERIES = 1024
"""Queries at a time: blocks of both make 32 MB of scores."""


def exact_rankings(documents: Vectors, queries: Vectors, similarity: Similarity, depth: int) -> dict[str, list[Scored]]:
    """Rank all documents for every query, as a vector leg that looks at every paper does.

    Args:
        documents: Those without a vector aren't ranked.
        queries: As many rankings come back as have a vector.
        similarity: How vectors are compared; a model's card says which.
        depth: Documents a query.

    Returns:
        By query, the nearest documents, best first, ties by id: cosine, dot product or minus Euclidean distance.
    """
    # In the order of their ids, so that a stable sort breaks ties as every engine does.
    names = sorted(documents.rows)
    measure = SIMILARITIES[similarity]
    asked = list(queries.rows)
    rankings: dict[str, list[Scored]] = {}
    for start in range(0, len(asked), QUERIES):
        part = asked[start : start + QUERIES]
        best = _nearest(documents, names, queries.of(part), measure, depth)
        rankings |= {
            query: [Scored(names[row], score) for row, score in zip(rows.tolist(), scores.tolist(), strict=True)]
            for query, (rows, scores) in zip(part, best, strict=True)
        }
    return rankings


_Best = tuple["NDArray[np.int64]", "NDArray[np.float32]"]


def _nearest(
    documents: Vectors,
    names: list[str],
    queries: np.ndarray,
    measure: Callable[[np.ndarray, np.ndarray], np.ndarray],
    depth: int,
) -> list[_Best]:
    nothing: _Best = np.empty(0, np.int64), np.empty(0, np.float32)
    best = [nothing] * len(queries)
    for start in range(0, len(names), BLOCK):
        block = measure(queries, documents.of(names[start : start + BLOCK]))
        at_least = np.full(len(queries), -np.inf, np.float32)
        if block.shape[1] > depth:
            at_least = np.partition(block, block.shape[1] - depth, axis=1)[:, block.shape[1] - depth]
        for number, (rows, scores) in enumerate(best):
            candidates = np.flatnonzero(block[number] >= at_least[number])
            every_row = np.concatenate([rows, candidates + start])
            every_score = np.concatenate([scores, block[number, candidates]])
            order = np.argsort(-every_score, kind="stable")[:depth]
            best[number] = every_row[order], every_score[order]
    return best


def _unit(vectors: np.ndarray) -> np.ndarray:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit: np.ndarray = vectors / np.where(lengths > 0, lengths, 1)
    return unit


def _minus_distance(queries: np.ndarray, documents: np.ndarray) -> np.ndarray:
    # In double precision: the squares of near vectors all but cancel out.
    left, right = queries.astype(np.float64), documents.astype(np.float64)
    squares = (left**2).sum(axis=1)[:, None] + (right**2).sum(axis=1)[None, :] - 2 * left @ right.T
    distance: np.ndarray = -np.sqrt(np.maximum(squares, 0)).astype(np.float32)
    return distance


SIMILARITIES: Mapping[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "cosine": lambda queries, documents: _unit(queries) @ _unit(documents).T,
    "dot": lambda queries, documents: queries @ documents.T,
    "l2": _minus_distance,
}
"""Every query against every document: float32 (queries, documents), larger for closer."""

PAIRWISE: Mapping[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "cosine": lambda left, right: (_unit(left) * _unit(right)).sum(axis=1),
    "dot": lambda left, right: (left * right).sum(axis=1),
    "l2": lambda left, right: -np.linalg.norm(left - right, axis=1),
}
"""Row by row."""
