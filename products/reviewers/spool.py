"""A matrix in a file, written and read in blocks of rows, so that memory does not grow with its rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

ROWS = 512
"""Rows of a block."""


@dataclass(frozen=True, slots=True)
class Spool:
    """A float32 matrix in a file, of any number of rows of `width` values, which are added at its end.

    The file is read, not mapped, so that its pages do not count as memory of the process.
    """

    path: Path
    width: int

    def append(self, rows: np.ndarray) -> None:
        """Write rows, (rows, width), after those before."""
        with self.path.open("ab") as file:
            np.ascontiguousarray(rows, dtype=np.float32).tofile(file)

    def read(self, start: int, stop: int) -> np.ndarray:
        """Return rows, float32 (stop - start, width)."""
        count = (stop - start) * self.width
        flat = np.fromfile(self.path, np.float32, count, offset=start * self.width * np.float32().itemsize)
        return flat.reshape(stop - start, self.width)

    def blocks(self, size: int = ROWS) -> Iterator[tuple[int, np.ndarray]]:
        """Yield all rows in blocks, float32 (size, width) at most, each with the number of its first row."""
        for start in range(0, len(self), size):
            yield start, self.read(start, min(start + size, len(self)))

    def __len__(self) -> int:
        size = self.path.stat().st_size if self.path.exists() else 0
        return size // (self.width * np.float32().itemsize)
