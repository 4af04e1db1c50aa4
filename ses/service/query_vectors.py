"""An encoder that remembers the vectors of texts, because readers ask for the same words again and page by page."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

from encoders.models.formats import Format
from encoders.text_encoder import TextEncoder
from ses.service.wrapped_encoder import WrappedEncoder

if TYPE_CHECKING:
    import numpy as np

    from ses.service.cache import Cache


class Remembering(WrappedEncoder):
    """Encodes single texts once; several at once, as programs send them, are encoded as they come.

    Args:
        encoder: The encoder.
        vectors: Keeps vectors; several models may share it.
    """

    def __init__(self, encoder: TextEncoder, vectors: Cache[np.ndarray]) -> None:
        super().__init__(encoder)
        self._vectors = vectors

    def encode(self, texts: Sequence[str], task_format: Format = Format.PRX) -> np.ndarray:
        """Encode texts for one task format; see `TextEncoder`."""
        if len(texts) != 1:
            return self._encoder.encode(texts, task_format)
        # A hash, so that a long text takes no more memory than a short one.
        text = hashlib.blake2b(texts[0].encode("utf-8", "surrogatepass"), digest_size=16).digest()
        key = (self.card.fingerprint, task_format, text)
        return self._vectors.get(key, lambda: self._encoder.encode(texts, task_format)).copy()
