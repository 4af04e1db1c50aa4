"""Exact nearest papers in memory: every document's vector against every query's, by blocked matrix products."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from encoders.models.formats import Similarity
from eval.embedder import Vectors
from eval.measures.similarity import SIMILARITIES, Closeness, require_same_dimension
from search_plugin.contract.legs import Scored

BLOCK = 8192
"""Documents at a time."""

QUERIES = 1024
"""Queries at a time: a block of documents by a block of queries is 32 MB of scores."""


def exact_rankings(
    documents: Vectors, queries: Vectors, similarity: Similarity, depth: int, *, descending: bool = False
) -> Iterator[tuple[str, list[Scored]]]:
    """Yield each query with its nearest documents, best first, as an exact vector leg ranks them.

    Queries and documents without a vector are left out. Scores are cosine, dot product or minus Euclidean distance: a
    model's card says which `similarity`. Ties are broken by ascending id, as in engines, or by `descending` id, as in
    trec_eval. Raises `InputError` if the two have vectors of different lengths.
    """
    require_same_dimension(queries.matrix, documents.matrix)
    # In the order of their ids, so that a stable sort breaks ties.
    names = sorted(documents.rows, reverse=descending)
    ids = list(queries.rows)
    for start in range(0, len(ids), QUERIES):
        part = ids[start : start + QUERIES]
        best = _nearest(documents, names, queries.of(part), SIMILARITIES[similarity], depth)
        for query, (rows, scores) in zip(part, best, strict=True):
            yield query, [Scored(names[row], score) for row, score in zip(rows.tolist(), scores.tolist(), strict=True)]


def _nearest(
    documents: Vectors, names: list[str], queries: np.ndarray, compare: Closeness, depth: int
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return for each query the rows and the scores of the best documents."""
    best = [(np.empty(0, np.int64), np.empty(0, np.float32))] * len(queries)
    for start in range(0, len(names), BLOCK):
        block = compare(queries, documents.of(names[start : start + BLOCK]))
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
