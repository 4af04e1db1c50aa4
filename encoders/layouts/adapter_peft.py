"""LoRA as the library PEFT writes it: `adapter_config.json` with a `peft_type`, and `adapter_model.safetensors`."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from encoders.architectures.bert import layer_name
from encoders.layouts.adapter_config import Adapter, cant_run, number, weights_in, whole_number
from encoders.layouts.adapter_lora import low_rank_parts
from encoders.layouts.adapter_weights import renamed
from encoders.models.card import ModelCard
from encoders.models.model import Weights, is_of_task_head
from encoders.models.weights import plain_name, read_weights
from encoders.ops.lora import lora_name

SAFETENSORS = "adapter_model.safetensors"
TORCH = "adapter_model.bin"

_LINEARS = (
    "attention.self.query",
    "attention.self.key",
    "attention.self.value",
    "attention.output.dense",
    "intermediate.dense",
    "output.dense",
)
_WRAPPED = "base_model.model."

_VARIANTS = (
    "use_dora",
    "use_qalora",
    "use_bdlora",
    "lora_bias",
    "rank_pattern",
    "alpha_pattern",
    "exclude_modules",
    "layer_replication",
    "alora_invocation_tokens",
    "kasa_config",
)
_UNCHANGED = (None, True, False, "gaussian", "orthogonal", "eva")
"""Ways to begin that leave the base as it was; others, such as pissa, add to another base than the one given."""


def read(path: Path, content: Mapping[str, Any], base: ModelCard) -> Adapter:
    """Read what a configuration of PEFT says; it must be LoRA."""
    if content["peft_type"] != "LORA":
        raise cant_run(path, "peft_type", content["peft_type"], "LORA")
    for key in _VARIANTS:
        if content.get(key):
            raise cant_run(path, key, content[key], "LoRA without it")
    if content.get("bias", "none") != "none":
        raise cant_run(path, "bias", content["bias"], "none")
    started = content.get("init_lora_weights")
    if started not in _UNCHANGED:
        raise cant_run(path, "init_lora_weights", started, "those that leave the base as it was")
    rank, alpha = whole_number(path, content, "r", 8), number(path, content, "lora_alpha", 8)
    linears = _linears(path, content, base)
    scaling = alpha / (math.sqrt(rank) if content.get("use_rslora") else rank)
    layers = sorted({layer for layer, _ in linears})
    file = weights_in(path.parent, SAFETENSORS, TORCH)
    names = [f"{layer_name(layer)}.{linear}" for layer, linear in linears]
    return Adapter(
        file, path.parent.name, {"scaling": scaling}, layers, functools.partial(_read, file, names, rank, base.name)
    )


def _linears(path: Path, content: Mapping[str, Any], base: ModelCard) -> list[tuple[int, str]]:
    """Return the linear layers that are adapted: a target is a whole name, or the end of one."""
    targets = content.get("target_modules")
    if not isinstance(targets, list) or not all(isinstance(target, str) for target in targets):
        raise cant_run(path, "target_modules", targets, "lists of the names of linear layers")
    chosen = content.get("layers_to_transform")
    chosen = [chosen] if isinstance(chosen, int) else chosen
    ends = [f".{plain_name(target)}" for target in targets]
    return [
        (layer, linear)
        for layer in range(base.network.layers)
        if chosen is None or layer in chosen
        for linear in _LINEARS
        if f".{layer_name(layer)}.{linear}".endswith(tuple(ends))
    ]


def _read(file: Path, linears: Sequence[str], rank: int, base: str, weights: Weights, head: str) -> Weights:
    arrays = {plain_name(name.removeprefix(_WRAPPED)): array for name, array in read_weights(file).items()}
    # A target such as `dense` takes in the pooler, and a classifier is saved too; no vector depends on them.
    own = {name: array for name, array in arrays.items() if not is_of_task_head(name)}
    known = {
        f"{linear}.{part}.weight": expected
        for linear in linears
        for part, expected in low_rank_parts(weights, linear, lora_name(linear, head), rank).items()
    }
    return renamed(file, own, known, base)
