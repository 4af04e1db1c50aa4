"""Nearest-neighbour search: through faiss's index if there are many vectors, always scored by the float32 vectors.

The index finds twice as many candidates as requested; the float32 vectors in the file rank them again. Vectors added
after the index was built are scanned. If a filter matches few vectors, those are scanned too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from search_plugin.engines.embedded.closeness import closeness, normal

if TYPE_CHECKING:
    import numpy as np

    from encoders.models.formats import Similarity
    from search_plugin.engines.embedded.approximate import Approximate

SCANNED = 10_000
"""If a filter matches at most this many vectors, their float32 values are scanned."""

_CANDIDATES = 2
_BLOCK = 4_096


def nearest(
    matrix: np.ndarray,
    query: np.ndarray,
    similarity: Similarity,
    count: int,
    allowed: np.ndarray | None,
    approximate: Approximate | None,
) -> tuple[np.ndarray, np.ndarray]:
    """Find the nearest vectors.

    Args:
        matrix: float32 (vectors, dimension).
        query: float32 (dimension,).
        similarity: How closeness is measured.
        count: How many to find.
        allowed: bool (vectors,), vectors that may be found; None for all.
        approximate: An index over the first vectors; without it the search is exact.

    Returns:
        Rows of the matrix, and their scores, the nearest first.
    """
    import numpy as np

    if allowed is not None and np.count_nonzero(allowed) <= SCANNED:
        rows = np.flatnonzero(allowed)
    elif approximate is None:
        return _scanned(matrix, 0, query, similarity, count, allowed)
    else:
        rows = approximate.candidates(normal(query[None], similarity), _CANDIDATES * count, allowed)
        later, _ = _scanned(matrix, approximate.covered, query, similarity, count, allowed)
        rows = np.concatenate([rows, later])
    return _best(rows, _scores(matrix, rows, query, similarity), count)


def _scanned(
    matrix: np.ndarray, start: int, query: np.ndarray, similarity: Similarity, count: int, allowed: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """Rank all vectors from a row on."""
    import numpy as np

    best = np.empty(0, np.int64), np.empty(0, np.float32)
    for begin in range(start, len(matrix), _BLOCK):
        block = slice(begin, min(begin + _BLOCK, len(matrix)))
        rows = np.arange(block.start, block.stop)
        scores = closeness(matrix[block], query, similarity)
        if allowed is not None:
            rows, scores = rows[allowed[block]], scores[allowed[block]]
        best = _best(np.concatenate([best[0], rows]), np.concatenate([best[1], scores]), count)
    return best


def _scores(matrix: np.ndarray, rows: np.ndarray, query: np.ndarray, similarity: Similarity) -> np.ndarray:
    import numpy as np

    parts = [closeness(matrix[rows[at : at + _BLOCK]], query, similarity) for at in range(0, len(rows), _BLOCK)]
    return np.concatenate(parts) if parts else np.empty(0, np.float32)


def _best(rows: np.ndarray, scores: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    import numpy as np

    if len(rows) > count:
        kept = np.argpartition(-scores, count - 1)[:count]
        rows, scores = rows[kept], scores[kept]
    order = np.argsort(-scores, kind="stable")
    return rows[order], scores[order]
