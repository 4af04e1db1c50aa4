"""How close vectors are, and vectors of length 1."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

    from encoders.models.formats import Similarity


def closeness(vectors: np.ndarray, query: np.ndarray, similarity: Similarity) -> np.ndarray:
    """Return scores that grow with closeness.

    Args:
        vectors: float32 (count, dimension).
        query: float32 (dimension,).
        similarity: Which.

    Returns:
        float32 (count,): cosine (0 for a zero vector), dot product, or minus Euclidean distance.
    """
    import numpy as np

    with np.errstate(over="ignore", invalid="ignore"):  # infinite scores are refused where legs are joined
        if similarity == "l2":
            away: np.ndarray = -np.linalg.norm(vectors - query, axis=1)
            return away
        dots: np.ndarray = vectors @ query
        if similarity == "dot":
            return dots
        lengths = np.sqrt(np.einsum("ij,ij->i", vectors, vectors)) * np.linalg.norm(query)
        cosines: np.ndarray = np.divide(dots, lengths, out=np.zeros_like(dots), where=lengths > 0)
        return cosines


def normal(vectors: np.ndarray, similarity: Similarity) -> np.ndarray:
    """Return vectors of length 1 for the cosine, unless they are zero; others as they are."""
    import numpy as np

    vectors = np.ascontiguousarray(vectors, np.float32)
    if similarity != "cosine":
        return vectors
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit: np.ndarray = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
    return unit
