"""Pooling in numpy, for runtimes whose networks end at the hidden states: a file beside the network says how."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from corpora.documents import read_json, typed
from corpora.lazy import np
from encoders.architectures.network import Pooling
from encoders.models.formats import Precision
from encoders.runtimes.registry import RuntimeSource

_FILE = "pooling.json"


@dataclass(frozen=True, slots=True)
class StatePooling:
    """How the last hidden states of a network become vectors.

    Attributes:
        pooling: The states that become the vector.
        normalize: Whether vectors are scaled to unit length.
        dimension: Length of a vector.
        heads: Number of heads; all have the same vector.
        precision: The precision of the network.
    """

    pooling: Pooling
    normalize: bool
    dimension: int
    heads: int
    precision: Precision

    def vectors(self, states: np.ndarray, mask: np.ndarray) -> list[np.ndarray]:
        """Return float32 (texts, width) for each head, from states (texts, tokens, width) and mask (texts, tokens)."""
        if self.pooling == "mean":
            kept = mask[:, :, None].astype(np.float32)
            vectors = (states * kept).sum(axis=1) / kept.sum(axis=1)
        else:
            vectors = states[:, 1 if self.pooling == "code" else 0]
        if self.normalize:
            vectors = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
        return [np.ascontiguousarray(vectors)] * self.heads


def write_pooling(source: RuntimeSource, precision: Precision, folder: Path) -> StatePooling:
    """Write how a model pools into a folder, and return it."""
    facts = source.card.network
    pooling = StatePooling(facts.pooling, facts.normalize, source.card.dimension, len(source.heads), precision)
    (folder / _FILE).write_text(json.dumps(asdict(pooling)), encoding="utf-8")
    return pooling


def read_pooling(folder: Path) -> StatePooling:
    """Read what `write_pooling` wrote; `OSError` or `ValueError` if it is damaged."""
    return typed(StatePooling, read_json(folder / _FILE))
