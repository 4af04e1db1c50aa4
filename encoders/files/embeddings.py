"""The content of an embedding file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True, slots=True, eq=False)
class Embeddings:
    """Vectors by id.

    Attributes:
        ids: Distinct, in the order of the file.
        vectors: float32 (ids, dimension), finite; of a .npy file of float32, the file itself mapped into memory.
        without: Ids that the file names with an empty vector, as SPECTER's script does for papers without a title.
    """

    ids: list[str]
    vectors: np.ndarray
    without: tuple[str, ...] = ()
