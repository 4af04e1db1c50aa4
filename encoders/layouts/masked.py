"""Masked language models of BERT's kind under the names that BERT has: DistilBERT (Sanh et al. 2019) and RoBERTa."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from corpora.errors import require
from corpora.lazy import np
from encoders.models.weights import read_weights

_DISTILBERT = {
    "dim": "hidden_size",
    "n_layers": "num_hidden_layers",
    "n_heads": "num_attention_heads",
    "hidden_dim": "intermediate_size",
    "activation": "hidden_act",
}
_SEGMENTS = "embeddings.token_type_embeddings.weight"

_PARTS = {"q": "query", "k": "key", "v": "value"}

_NAMES: tuple[tuple[str, str | Callable[[re.Match[str]], str]], ...] = (
    (r"^distilbert\.", ""),
    (r"^transformer\.layer\.", "encoder.layer."),
    (r"\.attention\.([qkv])_lin\.", lambda found: f".attention.self.{_PARTS[found[1]]}."),
    (r"\.attention\.out_lin\.", ".attention.output.dense."),
    (r"\.sa_layer_norm\.", ".attention.output.LayerNorm."),
    (r"\.ffn\.lin1\.", ".intermediate.dense."),
    (r"\.ffn\.lin2\.", ".output.dense."),
    (r"\.output_layer_norm\.", ".output.LayerNorm."),
    (r"^(vocab_transform|lm_head\.dense)\.", "cls.predictions.transform.dense."),
    (r"^(vocab_layer_norm|lm_head\.layer_norm)\.", "cls.predictions.transform.LayerNorm."),
    (r"^(vocab_projector|lm_head|lm_head\.decoder|cls\.predictions\.decoder)\.bias$", "cls.predictions.bias"),
    (r"^(vocab_projector|lm_head\.decoder)\.weight$", "cls.predictions.decoder.weight"),
)


def as_bert(path: Path, config: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a configuration with BERT's keys; others than DistilBERT's are as they were."""
    if config.get("model_type") != "distilbert":
        return config
    require(
        not config.get("sinusoidal_pos_embds"),
        f"{path} has positions that are computed, and ses reads those of a table; fetch another model.",
    )
    return {_DISTILBERT.get(key, key): value for key, value in config.items()} | {"model_type": "bert"}


def read_masked(path: Path) -> dict[str, np.ndarray]:
    """Read the weights of a masked language model, float32 under the names of BERT; errors as of `read_weights`.

    DistilBERT has no segments: they are zeros.
    """
    weights = {_bert_name(name): array for name, array in read_weights(path).items()}
    if _SEGMENTS not in weights and (words := weights.get("embeddings.word_embeddings.weight")) is not None:
        weights[_SEGMENTS] = np.zeros((1, words.shape[-1]), np.float32)
    return weights


def _bert_name(name: str) -> str:
    for pattern, replacement in _NAMES:
        name = re.sub(pattern, replacement, name)
    return name
