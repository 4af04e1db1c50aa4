"""Size and facts of a network."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

Pooling = Literal["cls", "mean", "code", "tokens"]
"""First token, mean over the text's tokens, the control code's own token (SciRepEval section 4.2), or no pooling."""


@dataclass(frozen=True, slots=True)
class Network:
    """Facts of a model that an architecture needs beside the weights.

    Attributes:
        layers: Number of layers.
        attention_heads: Attention heads per layer.
        width: Width of a hidden state.
        vocabulary: Rows of the word table.
        positions: Rows of the position table.
        first_position: Row of the first token's position.
        epsilon: Epsilon of layer normalization.
        shared_layers: Number of first layers that are the same for every head.
        pooling: The hidden states that become the vector.
        normalize: Whether vectors are scaled to unit length.
        options: The architecture's own facts, such as the token ids of instructions.
    """

    layers: int
    attention_heads: int
    width: int
    vocabulary: int
    positions: int
    first_position: int
    epsilon: float
    shared_layers: int
    pooling: Pooling
    normalize: bool
    options: Mapping[str, Any]


def dense_name(number: int) -> str:
    """Return the prefix of the weights of a linear layer after pooling."""
    return f"dense.{number}"
