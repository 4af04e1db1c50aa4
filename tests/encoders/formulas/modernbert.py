"""ModernBERT: Warner et al. 2024, section 2.1, one text at a time.

x_0 = LN(word); each layer is a = x + O attention(LN(x)), x' = a + W_o(gelu(u) v) with u, v = W_i LN(a) in halves; the
first layer's attention takes x itself, the vector is of LN(x_last); no biases anywhere. Queries and keys are turned
(Su et al. 2021): as complex numbers x_k + i x_(k + d/2), times exp(i position / theta^(2k/d)). Layers 0, 3, 6, ... see
every token and have the global theta; the others see tokens at most half the window away.
"""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file

from tests.encoders.oracle import gelu, pool, softmax


class ModernBert:
    """The model in a folder, in float64."""

    def __init__(self, folder: Path) -> None:
        self.config = json.loads((folder / "config.json").read_text())
        found = load_file(folder / "model.safetensors")
        self.weights = {name.removeprefix("model."): np.asarray(array, float) for name, array in found.items()}

    def vector(self, ids: list[int], pooling: str) -> np.ndarray:
        return pool(self.hidden(ids), pooling)

    def hidden(self, ids: list[int]) -> np.ndarray:
        x = self.norm("embeddings.norm", self.weights["embeddings.tok_embeddings.weight"][np.array(ids)])
        for i in range(self.config["num_hidden_layers"]):
            attended = x + self.attend(i, x if i == 0 else self.norm(f"layers.{i}.attn_norm", x))
            inner = self.norm(f"layers.{i}.mlp_norm", attended) @ self.weights[f"layers.{i}.mlp.Wi.weight"].T
            u, v = np.split(inner, 2, axis=1)
            x = attended + gelu(u) * v @ self.weights[f"layers.{i}.mlp.Wo.weight"].T
        return self.norm("final_norm", x)

    def attend(self, i: int, x: np.ndarray) -> np.ndarray:
        whole = i % self.config["global_attn_every_n_layers"] == 0
        theta = self.config["global_rope_theta" if whole else "local_rope_theta"]
        places, heads = np.arange(len(x)), self.config["num_attention_heads"]
        unseen = np.abs(places[:, None] - places) > self.config["local_attention"] / 2
        asked = np.split(x @ self.weights[f"layers.{i}.attn.Wqkv.weight"].T, 3, axis=1)
        found = []
        for query, key, value in zip(*(np.split(rows, heads, axis=1) for rows in asked), strict=True):
            # The real part of a product with the conjugate is the scalar product of the turned halves.
            logits = (turned(query, theta) @ turned(key, theta).conj().T).real / math.sqrt(query.shape[1])
            found.append(softmax(np.where(unseen & (not whole), -np.inf, logits)) @ value)
        return np.concatenate(found, axis=1) @ self.weights[f"layers.{i}.attn.Wo.weight"].T

    def norm(self, name: str, x: np.ndarray) -> np.ndarray:
        centred = x - x.mean(axis=1, keepdims=True)
        deviation = np.sqrt((centred**2).mean(axis=1, keepdims=True) + self.config["norm_eps"])
        return centred / deviation * self.weights[f"{name}.weight"]


def turned(rows: np.ndarray, theta: float) -> np.ndarray:
    """Each row's values as half as many complex numbers, turned by its place."""
    half = rows.shape[1] // 2
    angles = np.arange(len(rows))[:, None] / theta ** (2 * np.arange(half) / rows.shape[1])
    return (rows[:, :half] + 1j * rows[:, half:]) * np.exp(1j * angles)
