"""What the `config.json` of a network says that ses has no architecture for, and transformers runs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from corpora.errors import InputError
from encoders.architectures.network import Network, Pooling
from encoders.models.json_files import read_json
from encoders.runtimes.transformers import configuration, plain_settings

_TOKENS = 512
"""Of texts for a network that takes any length, and whose tokenizer names none."""


def read_network(path: Path, config: Mapping[str, Any], pooling: Pooling, *, normalize: bool) -> Network:
    """Read what transformers knows of a network by its configuration.

    Args:
        path: Of the `config.json`, in the folder of the tokenizer's files.
        config: Its content.
        pooling: How the network's states become a vector.
        normalize: Whether vectors are scaled to unit length.

    Returns:
        The network's facts, with the configuration among its options.

    Raises:
        InputError: If it is no encoder, or transformers does not know it.
        UnavailableError: If transformers is not installed.
    """
    known = configuration(path, config)
    settings = read_json(path.parent / "tokenizer_config.json", dict, missing={})
    # Of position tables that keep rows for padding, only the tokenizer tells how long texts may be.
    limits = [getattr(known, "max_position_embeddings", None), settings.get("model_max_length")]
    sizes = [getattr(known, key, None) for key in ("hidden_size", "vocab_size")]
    if not all(type(size) is int and size > 0 for size in sizes):
        raise InputError(f"{path} gives no whole number for hidden_size or vocab_size; fetch the model again.")
    layers = getattr(known, "num_hidden_layers", 0)
    return Network(
        layers=layers,
        attention_heads=getattr(known, "num_attention_heads", 0),
        width=known.hidden_size,
        vocabulary=known.vocab_size,
        positions=min([limit for limit in limits if type(limit) is int and limit > 0], default=_TOKENS),
        first_position=0,
        epsilon=0.0,
        shared_layers=layers,
        pooling=pooling,
        normalize=normalize,
        options={"config": plain_settings(config)},
    )
