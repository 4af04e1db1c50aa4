"""SPLADE's weights (Formal et al. 2021, SPLADE v2, section 3): max over tokens of log(1 + relu(logit)), in float64."""

from __future__ import annotations

import numpy as np

from tests.encoders.oracle import Oracle, gelu, linear


def sparse_weights(model: Oracle, ids: list[int], *, logarithms: int = 1) -> np.ndarray:
    """The weight of each token of the vocabulary; the head's table is that of the words."""
    head = "cls.predictions.transform"
    inner = model.norm(f"{head}.LayerNorm", gelu(linear(model.weights, f"{head}.dense", model.hidden(ids))))
    logits = inner @ model.weights["embeddings.word_embeddings.weight"].T + model.weights["cls.predictions.bias"]
    weights = np.maximum(logits, 0)
    for _ in range(logarithms):
        weights = np.log(1 + weights)
    return weights.max(axis=0)
