"""How close vectors are: cosine, dot product or minus Euclidean distance, each larger for closer vectors."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from corpora.errors import require
from search_plugin.contract.legs import unit_rows

Closeness = Callable[[np.ndarray, np.ndarray], np.ndarray]


def minus_distance(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return minus the Euclidean distance of each row of one side to the same row, or the only row, of the other.

    Both sides are (rows, dimension), the result (rows,).
    """
    return np.asarray(-np.linalg.norm(left - right, axis=1))


def _minus_distances(queries: np.ndarray, documents: np.ndarray) -> np.ndarray:
    # In double precision, because the squares of near vectors almost cancel out.
    left, right = queries.astype(np.float64), documents.astype(np.float64)
    squares = (left**2).sum(axis=1)[:, None] + (right**2).sum(axis=1)[None, :] - 2 * left @ right.T
    return np.asarray(-np.sqrt(np.maximum(squares, 0)), dtype=np.float32)


SIMILARITIES: Mapping[str, Closeness] = {
    "cosine": lambda queries, documents: unit_rows(queries) @ unit_rows(documents).T,
    "dot": lambda queries, documents: queries @ documents.T,
    "l2": _minus_distances,
}
"""Every query against every document: float32 (queries, documents)."""

PAIRWISE: Mapping[str, Closeness] = {
    "cosine": lambda left, right: (unit_rows(left) * unit_rows(right)).sum(axis=1),
    "dot": lambda left, right: (left * right).sum(axis=1),
    "l2": minus_distance,
}
"""Row by row."""


def require_same_dimension(
    queries: np.ndarray, documents: np.ndarray, nouns: tuple[str, str] = ("queries", "papers")
) -> None:
    """Raise `InputError` where the vectors of two sides have different lengths, and so can't be compared."""
    require(
        queries.shape[1] == documents.shape[1],
        f"Vectors of {nouns[0]} have {queries.shape[1]} values and those of {nouns[1]} {documents.shape[1]}; "
        "make both with the same model.",
    )
