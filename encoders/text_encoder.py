"""The interface of all encoders."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from encoders.formats import Format

if TYPE_CHECKING:
    import numpy as np

    from encoders.card import ModelCard


class TextEncoder(Protocol):
    """What encodes texts: a model, or several composed."""

    @property
    def card(self) -> ModelCard:
        """What it declares."""

    def encode(self, texts: Sequence[str], task_format: Format = Format.PRX) -> np.ndarray:
        """Encode texts for one task format: float32 (texts, dimension)."""

    def encode_formats(self, texts: Sequence[str], formats: Sequence[Format]) -> dict[Format, np.ndarray]:
        """Encode texts for several task formats: float32 (texts, dimension) by format."""
