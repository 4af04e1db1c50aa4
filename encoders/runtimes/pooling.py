"""Pooling in numpy, for runtimes whose graphs end at the hidden states."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

    from encoders.architectures.network import Pooling


def pool(states: np.ndarray, mask: np.ndarray, pooling: Pooling, *, normalize: bool) -> np.ndarray:
    """Return one vector per text, (texts, width), from states (texts, tokens, width) and a mask (texts, tokens)."""
    import numpy as np

    if pooling == "mean":
        kept = mask[:, :, None].astype(np.float32)
        vectors = (states * kept).sum(axis=1) / kept.sum(axis=1)
    else:
        vectors = states[:, 1 if pooling == "code" else 0]
    if normalize:
        vectors = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    return np.ascontiguousarray(vectors)
