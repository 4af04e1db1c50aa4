"""The interface of all encoders."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from encoders.formats import Format

if TYPE_CHECKING:
    import numpy as np

    from encoders.card import ModelCard


Done = Callable[[float], None]
"""Receives after each batch how many more texts are encoded: a fraction where a text takes several passes."""


def ignore(texts: float) -> None:
    """Ignore the progress."""


def shared(done: Done, passes: int) -> Done:
    """Return what receives the progress of one of several passes over the same texts."""
    return lambda texts: done(texts / passes)


class TextEncoder(Protocol):
    """What encodes texts: a model, or several composed."""

    @property
    def card(self) -> ModelCard:
        """What it declares."""

    def encode(self, texts: Sequence[str], task_format: Format = Format.PRX) -> np.ndarray:
        """Encode texts for one task format: float32 (texts, dimension)."""

    def encode_formats(
        self, texts: Sequence[str], formats: Sequence[Format], done: Done = ignore
    ) -> dict[Format, np.ndarray]:
        """Encode texts for several task formats: float32 (texts, dimension) by format; `done` receives the progress."""
