"""Vectors as the embedded engine stores them: float32, or in 8 bits with a scale for each vector."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    import numpy as np

    from search_plugin.contract.schema import VectorField

_LARGEST = 127


class Quantized:
    """Vectors in 8 bits; what is read of them is float32 (count, dimension)."""

    def __init__(self, stored: np.ndarray) -> None:
        self._stored = stored

    def __len__(self) -> int:
        return len(self._stored)

    @property
    def shape(self) -> tuple[int, int]:
        """Their number, and their length."""
        return len(self._stored), self._stored.dtype["numbers"].shape[0]

    def __getitem__(self, rows: Any) -> np.ndarray:
        """Return the vectors of a slice, or of an array of rows."""
        part = self._stored[rows]
        whole: np.ndarray = part["numbers"] * part["scale"][:, None]
        return whole


Matrix: TypeAlias = "np.ndarray | Quantized"
"""Vectors by row: a slice or an array of rows reads float32 (count, dimension)."""


def stored_type(field: VectorField) -> np.dtype[Any]:
    """Return the type of a stored vector: 4 bytes per number, or 1 and a scale of 4 bytes."""
    import numpy as np

    if field.quantization == "int8":
        return np.dtype([("scale", "<f4"), ("numbers", "i1", (field.dimension,))])
    return np.dtype(("<f4", (field.width,)))


def as_stored(vectors: np.ndarray, field: VectorField) -> np.ndarray:
    """Return vectors, float32 (count, dimension), as they are stored.

    In 8 bits, a number x is stored as round(x / scale), and the largest of a vector as 127 or -127: each differs by at
    most half of the scale.
    """
    import numpy as np

    if field.quantization != "int8":
        return vectors.astype("<f4")
    stored = np.zeros(len(vectors), stored_type(field))
    scales = np.abs(vectors).max(axis=1, initial=0.0) / np.float32(_LARGEST)
    stored["scale"] = scales
    np.divide(vectors, scales[:, None], out=(whole := np.zeros_like(vectors)), where=scales[:, None] > 0)
    stored["numbers"] = np.rint(whole).clip(-_LARGEST, _LARGEST)
    return stored


def read_stored(stored: np.ndarray, field: VectorField) -> Matrix:
    """Return what reads stored vectors."""
    return Quantized(stored) if field.quantization == "int8" else stored
