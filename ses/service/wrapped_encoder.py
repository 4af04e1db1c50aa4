"""What the encoders of the service have in common that wrap another one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from encoders.models.formats import Format
from encoders.text_encoder import EncodingProgress, TextEncoder, ignore

if TYPE_CHECKING:
    import numpy as np

    from encoders.models.card import ModelCard


class WrappedEncoder:
    """An encoder that does what another one does, unless a subclass says otherwise; see `TextEncoder`.

    Args:
        encoder: The other one.
    """

    def __init__(self, encoder: TextEncoder) -> None:
        self._encoder = encoder

    @property
    def card(self) -> ModelCard:
        """What the model declares."""
        return self._encoder.card

    def encode(self, texts: Sequence[str], task_format: Format = Format.PRX) -> np.ndarray:
        """Encode texts for one task format."""
        return self._encoder.encode(texts, task_format)

    def count_tokens(self, texts: Sequence[str], task_format: Format = Format.PRX) -> int:
        """Return how many tokens the model reads."""
        return self._encoder.count_tokens(texts, task_format)

    def encode_formats(
        self, texts: Sequence[str], formats: Sequence[Format], done: EncodingProgress = ignore
    ) -> dict[Format, np.ndarray]:
        """Encode texts for several task formats."""
        return self._encoder.encode_formats(texts, formats, done)
