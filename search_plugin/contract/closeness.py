"""How near vectors are to a query: the scores of a vector leg, the same on every engine."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

    from encoders.models.formats import Similarity


def closeness(vectors: np.ndarray, query: np.ndarray, similarity: Similarity) -> np.ndarray:
    """Return scores that grow with closeness, float32 (count,), of vectors, float32 (count, dimension), to a query.

    They are the cosine (0 for a zero vector), the dot product, or minus the Euclidean distance. The query is float32
    (dimension,).
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
