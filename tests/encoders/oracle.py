"""BERT and RoBERTa in plain numpy, one text at a time and without padding, as the papers write them.

Vaswani et al. 2017, section 3 (attention, position-wise network); Hendrycks and Gimpel 2016 (GELU by the error
function); Ba et al. 2016 (layer normalization); Devlin et al. 2019 (post-layer-norm encoder, segment embeddings);
Liu et al. 2019 (RoBERTa; its positions start after the padding token's id). It shares no code with the package.
The variants of the papers stand in `formulas`, each written as what it does to one layer.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file

Weights = Mapping[str, np.ndarray]

erf = np.vectorize(math.erf, otypes=[float])


def gelu(x: np.ndarray) -> np.ndarray:
    """x times the normal distribution's share below x."""
    return x * (1 + erf(x / math.sqrt(2))) / 2


def softmax(scores: np.ndarray) -> np.ndarray:
    """Over the last axis, which may be empty."""
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True, initial=-np.inf))
    return weights / weights.sum(axis=-1, keepdims=True)


def attention(query: np.ndarray, key: np.ndarray, value: np.ndarray, heads: int) -> np.ndarray:
    """Multi-head attention before its output projection: softmax(q k' / sqrt(width of a head)) v, a head at a time."""
    parts = (np.split(rows, heads, axis=1) for rows in (query, key, value))
    return np.concatenate(
        [softmax(q @ k.T / math.sqrt(q.shape[1])) @ v for q, k, v in zip(*parts, strict=True)], axis=1
    )


def linear(weights: Weights, name: str, x: np.ndarray) -> np.ndarray:
    """x W' + b."""
    return x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]


def under(weights: Weights, prefix: str) -> dict[str, np.ndarray]:
    """The weights whose name holds the prefix, in float64, by what follows it."""
    return {name.split(prefix, 1)[1]: np.asarray(w, dtype=float) for name, w in weights.items() if prefix in name}


def pool(hidden: np.ndarray, pooling: str, *, normalize: bool = False) -> np.ndarray:
    """The first token's state, the control code's after it, or the mean of all; scaled to length 1 if asked for."""
    vector = {"cls": lambda: hidden[0], "code": lambda: hidden[1], "mean": lambda: hidden.mean(axis=0)}[pooling]()
    return vector / np.sqrt(vector @ vector) if normalize else vector


class Oracle:
    """The model in a folder, computed in float64; its weights may come from another file."""

    def __init__(self, folder: Path, weights: Weights | None = None) -> None:
        self.config = json.loads((folder / "config.json").read_text())
        found = load_file(folder / "model.safetensors") if weights is None else weights
        self.weights = {name: np.asarray(array, dtype=float) for name, array in found.items()}
        self.heads = self.config["num_attention_heads"]
        roberta = self.config.get("model_type") in ("roberta", "xlm-roberta", "camembert")
        self.first_position = self.config["pad_token_id"] + 1 if roberta else 0

    def vector(self, ids: list[int], pooling: str, *, normalize: bool) -> np.ndarray:
        return pool(self.hidden(ids), pooling, normalize=normalize)

    def hidden(self, ids: list[int]) -> np.ndarray:
        return self.states(ids)[-1]

    def states(self, ids: list[int], layer: Callable[[int, np.ndarray], np.ndarray] | None = None) -> list[np.ndarray]:
        """The embeddings and every layer's output; `layer` of a number and its input stands in for the usual one."""
        states = [self.embed(self.weights["embeddings.word_embeddings.weight"][np.array(ids, dtype=int)])]
        for i in range(self.config["num_hidden_layers"]):
            states.append((layer or self.layer)(i, states[-1]))
        return states

    def embed(self, words: np.ndarray) -> np.ndarray:
        """LN(word + position + segment 0), the words at the first positions."""
        positions = self.weights["embeddings.position_embeddings.weight"][self.first_position :][: len(words)]
        segment = self.weights["embeddings.token_type_embeddings.weight"][0]
        return self.norm("embeddings.LayerNorm", words + positions + segment)

    def layer(self, i: int, hidden: np.ndarray) -> np.ndarray:
        return self.finish(i, self.attend(i, hidden, hidden))

    def attend(self, i: int, hidden: np.ndarray, context: np.ndarray) -> np.ndarray:
        """The first half of a layer: states that ask, states that are asked."""
        name = f"encoder.layer.{i}.attention"
        query = linear(self.weights, f"{name}.self.query", hidden)
        key, value = (linear(self.weights, f"{name}.self.{part}", context) for part in ("key", "value"))
        return self.join(i, hidden, attention(query, key, value, self.heads))

    def join(self, i: int, hidden: np.ndarray, mixed: np.ndarray) -> np.ndarray:
        """LN(projected attention + input)."""
        name = f"encoder.layer.{i}.attention.output"
        return self.norm(f"{name}.LayerNorm", linear(self.weights, f"{name}.dense", mixed) + hidden)

    def finish(self, i: int, attended: np.ndarray, extra: np.ndarray | float = 0.0) -> np.ndarray:
        """The second half of a layer: LN(FFN(a) + a), with what a variant adds before the norm."""
        return self.norm(f"encoder.layer.{i}.output.LayerNorm", self.feed_forward(i, attended) + attended + extra)

    def feed_forward(self, i: int, attended: np.ndarray) -> np.ndarray:
        name = f"encoder.layer.{i}"
        inner = gelu(linear(self.weights, f"{name}.intermediate.dense", attended))
        return linear(self.weights, f"{name}.output.dense", inner)

    def norm(self, name: str, hidden: np.ndarray) -> np.ndarray:
        return layer_norm(self.weights, name, hidden, self.config["layer_norm_eps"])


def layer_norm(weights: Weights, name: str, x: np.ndarray, epsilon: float) -> np.ndarray:
    centred = x - x.mean(axis=1, keepdims=True)
    deviation = np.sqrt((centred**2).mean(axis=1, keepdims=True) + epsilon)
    return centred / deviation * weights[f"{name}.weight"] + weights[f"{name}.bias"]
