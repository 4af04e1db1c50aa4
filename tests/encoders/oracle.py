"""BERT and RoBERTa in plain numpy, one text at a time and without padding, as the papers write them.

Vaswani et al. 2017, section 3 (attention, position-wise network); Hendrycks and Gimpel 2016 (GELU by the error
function); Ba et al. 2016 (layer normalization); Devlin et al. 2019 (post-layer-norm encoder, segment embeddings);
Liu et al. 2019 (RoBERTa; its positions start after the padding token's id). It shares no code with the package.
"""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file

erf = np.vectorize(math.erf)


class Oracle:
    """The model in a folder, computed in float64."""

    def __init__(self, folder: Path) -> None:
        self.config = json.loads((folder / "config.json").read_text())
        self.weights = {name: array.astype(float) for name, array in load_file(folder / "model.safetensors").items()}

    def vector(self, ids: list[int], pooling: str, *, normalize: bool) -> np.ndarray:
        hidden = self.hidden(ids)
        vector = {"cls": hidden[0], "code": hidden[1], "mean": hidden.mean(axis=0)}[pooling]
        return vector / np.sqrt(vector @ vector) if normalize else vector

    def hidden(self, ids: list[int]) -> np.ndarray:
        first = self.config["pad_token_id"] + 1 if self.config["model_type"] == "roberta" else 0
        table = "embeddings.{}_embeddings.weight".format
        hidden = np.stack(
            [
                self.weights[table("word")][token]
                + self.weights[table("position")][first + i]
                + self.weights[table("token_type")][0]
                for i, token in enumerate(ids)
            ]
        )
        hidden = self._norm("embeddings.LayerNorm", hidden)
        for layer in range(self.config["num_hidden_layers"]):
            name = f"encoder.layer.{layer}"
            attended = self._linear(f"{name}.attention.output.dense", self._attention(f"{name}.attention.self", hidden))
            hidden = self._norm(f"{name}.attention.output.LayerNorm", hidden + attended)
            inner = self._linear(f"{name}.intermediate.dense", hidden)
            inner = inner * (1 + erf(inner / math.sqrt(2))) / 2
            hidden = self._norm(f"{name}.output.LayerNorm", hidden + self._linear(f"{name}.output.dense", inner))
        return hidden

    def _attention(self, name: str, hidden: np.ndarray) -> np.ndarray:
        heads = self.config["num_attention_heads"]
        query, key, value = (
            np.split(self._linear(f"{name}.{part}", hidden), heads, axis=1) for part in ("query", "key", "value")
        )
        mixed = []
        for q, k, v in zip(query, key, value, strict=True):
            weights = np.exp(q @ k.T / math.sqrt(q.shape[1]))
            mixed.append(weights / weights.sum(axis=1, keepdims=True) @ v)
        return np.concatenate(mixed, axis=1)

    def _linear(self, name: str, hidden: np.ndarray) -> np.ndarray:
        return hidden @ self.weights[f"{name}.weight"].T + self.weights[f"{name}.bias"]

    def _norm(self, name: str, hidden: np.ndarray) -> np.ndarray:
        centred = hidden - hidden.mean(axis=1, keepdims=True)
        deviation = np.sqrt((centred**2).mean(axis=1, keepdims=True) + self.config["layer_norm_eps"])
        return centred / deviation * self.weights[f"{name}.weight"] + self.weights[f"{name}.bias"]
