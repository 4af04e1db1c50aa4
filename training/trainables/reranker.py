"""A cross-encoder: the network, and a new head that scores a query and a paper read together.

The folder is one of transformers' `BertForSequenceClassification` with one label, which sentence-transformers' class
CrossEncoder loads too.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from corpora.errors import require
from encoders.architectures.pairs import HEADS
from encoders.architectures.registry import PAIRS
from encoders.layouts.network_writing import write_network
from encoders.models.folder import bert_config
from encoders.models.formats import Format
from encoders.models.model import Model, Weights
from encoders.tokens.tokenizer import load_tokenizer
from training.trainables.base import Trainable, TrainableOptions, everything, new_linear

_INNER, _OUTER = HEADS["bert"]
_IDENTITY = "torch.nn.modules.linear.Identity"


def start(base: Model, formats: Sequence[Format], options: TrainableOptions, seed: int) -> dict[str, Any]:  # noqa: ARG001
    """Return a new head: N(0, 0.02), bias 0. `InputError` if the base is not of BERT's family, which has segments."""
    family = base.card.family
    require(family == "bert", f"A reranker starts from a network of BERT's family, and {base.card.name} is {family}.")
    draw, width = np.random.default_rng(seed), base.card.network.width
    return new_linear(draw, _INNER, width, width) | new_linear(draw, _OUTER, 1, width)


def write(base: Model, formats: Sequence[Format], weights: Weights, folder: Path) -> None:  # noqa: ARG001
    """Write a cross-encoder's folder, whose scores are logits."""
    segments = {"type_vocab_size": len(weights["embeddings.token_type_embeddings.weight"])}
    config = bert_config(base.card, weights) | segments
    config |= {"architectures": ["BertForSequenceClassification"], "num_labels": 1, "id2label": {"0": "score"}}
    config |= {"label2id": {"score": 0}, "sentence_transformers": {"activation_fn": _IDENTITY}}
    named = {name if name.startswith(_OUTER) else f"bert.{name}": array for name, array in weights.items()}
    tokenizer = load_tokenizer(base.folder, base.card)
    write_network(folder, named, config, {"architecture": PAIRS}, base.folder, tokenizer)


def described(formats: Sequence[Format], options: TrainableOptions) -> dict[str, Any]:  # noqa: ARG001
    """Return what the folder's own card says of the length of a pair."""
    return {"max_tokens": options["max_tokens"]}


RERANKER = Trainable({"max_tokens": 256}, write, everything, start=start, described=described, pairs=True)
