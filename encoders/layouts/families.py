"""The families of networks that ses has, and what the `config.json` of each says of its network."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from corpora.errors import InputError
from encoders.architectures.network import Network, Pooling
from encoders.models.folder import check_limits, read_json

_SIZES = ("hidden_size", "num_hidden_layers", "num_attention_heads", "max_position_embeddings", "vocab_size")

Config = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Family:
    """What the networks of one `model_type` have in common.

    Attributes:
        architecture: A name in `encoders.architectures.registry`.
        separator: The separator token, where the tokenizer's files name none.
        first_position: Row of the first token's position; None if that is after the padding token's id.
        options: Function from a configuration to the architecture's own facts, or None if it can't run it.
        epsilon: The key of layer normalization's epsilon.
        default_epsilon: Its value where the configuration has no such key.
        activation: The key of the activation; all architectures here compute gelu.
    """

    architecture: str
    separator: str
    first_position: int | None = 0
    options: Callable[[Config], Mapping[str, Any] | None] | None = None
    epsilon: str = "layer_norm_eps"
    default_epsilon: float = 1e-12
    activation: str = "hidden_act"


def _mpnet_options(config: Config) -> Mapping[str, Any] | None:
    # transformers reads the rows of these 32 buckets, also where the table has another size.
    from encoders.architectures.mpnet import BUCKETS

    return {} if config.get("relative_attention_num_buckets", BUCKETS) == BUCKETS else None


def _modernbert_options(config: Config) -> Mapping[str, Any] | None:
    from encoders.architectures.modernbert import GLOBAL_THETA, LOCAL_THETA

    every = config.get("global_attn_every_n_layers", 3)
    layers = range(config["num_hidden_layers"])
    kinds = config.get("layer_types") or ["sliding_attention" if i % every else "full_attention" for i in layers]
    rotations = config.get("rope_parameters") or {}
    whole, local = (rotations.get(kind) or {} for kind in ("full_attention", "sliding_attention"))
    ours = (
        not any(config.get(key) for key in ("attention_bias", "mlp_bias", "norm_bias", "rope_scaling"))
        and {rotation.get("rope_type", "default") for rotation in (whole, local)} == {"default"}
        and len(kinds) == len(layers)
        and set(kinds) <= {"full_attention", "sliding_attention"}
    )
    if not ours:
        return None
    return {
        "global_layers": [number for number, kind in enumerate(kinds) if kind == "full_attention"],
        "reach": config.get("local_attention", 128) // 2,
        "global_theta": float(whole.get("rope_theta") or config.get("global_rope_theta") or GLOBAL_THETA),
        "local_theta": float(local.get("rope_theta") or config.get("local_rope_theta") or LOCAL_THETA),
    }


_ROBERTA = Family("plain", "</s>", first_position=None)

FAMILIES: Mapping[str, Family] = {
    "bert": Family("plain", "[SEP]"),
    "roberta": _ROBERTA,
    # RoBERTa's network with other tokenizers (Conneau et al. 2020; Martin et al. 2020).
    "xlm-roberta": _ROBERTA,
    "camembert": _ROBERTA,
    # Its code keeps two rows whatever the padding token's id is.
    "mpnet": Family("mpnet", "</s>", first_position=2, options=_mpnet_options),
    "modernbert": Family(
        "modernbert",
        "[SEP]",
        options=_modernbert_options,
        epsilon="norm_eps",
        default_epsilon=1e-5,
        activation="hidden_activation",
    ),
}
"""By the `model_type` in `config.json`."""


def read_network(path: Path, config: Config, pooling: Pooling, *, normalize: bool) -> Network | None:
    """Return a network's facts; None if no architecture runs it. `InputError` if its `config.json` is damaged."""
    family = FAMILIES.get(str(config.get("model_type")))
    if family is None:
        return None
    for key in _SIZES:
        if type(config.get(key)) is not int or config[key] < 1:
            raise InputError(f"{key} in {path} is not a whole number above 0; fetch the model again.")
    check_limits(path, config)
    epsilon = config.get(family.epsilon, family.default_epsilon)
    if not isinstance(epsilon, int | float) or isinstance(epsilon, bool):
        raise InputError(f"{path} gives no number for {family.epsilon}; fetch the model again.")
    try:
        first = int(config.get("pad_token_id", 1)) + 1 if family.first_position is None else family.first_position
        options = family.options(config) if family.options else {}
    except (AttributeError, ArithmeticError, TypeError, ValueError) as error:
        raise InputError(f"{path} holds a value of the wrong kind ({error}); fetch the model again.") from error
    if options is None or config.get(family.activation, "gelu") != "gelu":
        return None
    return Network(
        layers=config["num_hidden_layers"],
        attention_heads=config["num_attention_heads"],
        width=config["hidden_size"],
        vocabulary=config["vocab_size"],
        positions=config["max_position_embeddings"],
        first_position=first,
        epsilon=float(epsilon),
        shared_layers=config["num_hidden_layers"],
        pooling=pooling,
        normalize=normalize,
        options=options,
    )


_TOKENS = 512
"""The longest text in tokens, where neither network nor tokenizer names one."""


def read_foreign_network(path: Path, config: Mapping[str, Any], pooling: Pooling, *, normalize: bool) -> Network:
    """Return what transformers knows of a network, with its configuration among the options."""
    from encoders.runtimes.transformers import configuration, plain_settings

    known = configuration(path, config)
    settings = read_json(path.parent / "tokenizer_config.json", dict, missing={})
    # Some position tables keep rows for padding. Then only the tokenizer tells how long texts may be.
    limits = [getattr(known, "max_position_embeddings", None), settings.get("model_max_length")]
    sizes = [getattr(known, key, None) for key in ("hidden_size", "vocab_size")]
    if not all(type(size) is int and size > 0 for size in sizes):
        raise InputError(f"hidden_size or vocab_size in {path} is not a whole number; fetch the model again.")
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
