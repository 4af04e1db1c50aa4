"""Cross-encoders: transformers' heads for sequences, over the first token of `[CLS] query [SEP] paper [SEP]`.

BERT (Devlin et al. 2019): w tanh(W h + b) + c, with segment 1 for the paper and the separator after it. RoBERTa and
MPNet have the same head under other names, and no segments. ModernBERT: w LN(gelu(W h)) + c.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from safetensors.numpy import load_file

from tests.encoders.formulas.modernbert import ModernBert
from tests.encoders.formulas.mpnet import MPNet
from tests.encoders.oracle import Oracle, gelu, linear, pool

PREFIXES = ("bert.", "roberta.", "mpnet.", "model.")


class Segmented(Oracle):
    """BERT with two segments."""

    kinds: np.ndarray

    def embed(self, words: np.ndarray) -> np.ndarray:
        positions = self.weights["embeddings.position_embeddings.weight"][: len(words)]
        segments = self.weights["embeddings.token_type_embeddings.weight"][self.kinds]
        return self.norm("embeddings.LayerNorm", words + positions + segments)


def score(folder: Path, family: str, ids: list[int], kinds: list[int], pooling: str = "cls") -> float:
    """The logit of a pair of texts, given its tokens and the segment of each."""
    held = load_file(folder / "model.safetensors")
    weights = {plain(name): np.asarray(array, float) for name, array in held.items()}
    if family == "modernbert":
        state = pool(ModernBert(folder).hidden(ids), pooling)[None]
        inner = gelu(state @ weights["head.dense.weight"].T)
        centred = inner - inner.mean()
        normal = centred / np.sqrt((centred**2).mean() + 1e-5) * weights["head.norm.weight"]
        return float(linear(weights, "classifier", normal)[0, 0])
    network = {"mpnet": MPNet, "bert": Segmented}.get(family, Oracle)(folder, weights)
    network.kinds = np.array(kinds)
    inner, outer = ("pooler.dense", "classifier") if family == "bert" else ("classifier.dense", "classifier.out_proj")
    return float(linear(weights, outer, np.tanh(linear(weights, inner, network.hidden(ids)[:1])))[0, 0])


def plain(name: str) -> str:
    for prefix in PREFIXES:
        name = name.removeprefix(prefix)
    return name
