"""LoRA and (IA)^3 of AdapterHub (`lora`; `ia3` is the same with `composition_mode` scale)."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from encoders.architectures.bert import layer_name
from encoders.layouts.adapter_config import (
    SAFETENSORS,
    TORCH,
    Adapter,
    cant_run,
    layers_of,
    number,
    weights_in,
    whole_number,
)
from encoders.layouts.adapter_weights import NamedShape, renamed
from encoders.models.card import ModelCard
from encoders.models.model import Weights
from encoders.models.weights import read_weights
from encoders.ops.lora import lora_name

ATTENTION = {"q": "attention.self.query", "k": "attention.self.key", "v": "attention.self.value"}
"""Linear layers that the configuration lists."""

ELSEWHERE = {"intermediate_lora": "intermediate.dense", "output_lora": "output.dense"}
"""Those that have a key each."""

_REFUSED = ("use_gating", "use_dora", "vera_d", "vera_b")
"""Variants that the library computes otherwise; its gates take the mean over padding too."""


def read(path: Path, content: Mapping[str, Any], base: ModelCard) -> Adapter:
    """Read what a configuration says of LoRA or (IA)^3."""
    config = content["config"]
    for key in _REFUSED:
        if config.get(key) is not None and config[key] is not False:
            raise cant_run(path, key, config[key], "LoRA without it")
    mode, rank = config.get("composition_mode", "add"), whole_number(path, config, "r", 8)
    if mode not in ("add", "scale"):
        raise cant_run(path, "composition_mode", mode, "add and scale")
    if mode == "scale" and rank != 1:
        raise cant_run(path, "r", rank, "1 for the composition_mode scale")
    alpha = number(path, config, "alpha", 8)
    layers = layers_of(path, config, base)
    linears = [f"{layer_name(layer)}.{linear}" for layer in layers for linear in _linears(path, config)]
    file, name = weights_in(path.parent, SAFETENSORS, TORCH), content["name"]
    reading = functools.partial(_read_scales, file, name, linears, base.name)
    if mode == "add":
        reading = functools.partial(_read, file, name, linears, rank, base.name)
    scaling = alpha / rank if mode == "add" else float(alpha)
    return Adapter(file, name, {"scaling": scaling}, layers if linears else [], reading)


def low_rank_parts(weights: Weights, linear: str, name: str, rank: int) -> dict[str, NamedShape]:
    """Return what LoRA adds to a linear layer of the base, by the libraries' names of the two matrices.

    Args:
        weights: Of the base.
        linear: Name of the layer.
        name: What the architecture's names of the two begin with.
        rank: Rows of the one, columns of the other.

    Returns:
        The two.
    """
    outputs, inputs = weights[f"{linear}.weight"].shape
    shapes = {"lora_A": (rank, inputs), "lora_B": (outputs, rank)}
    return {part: NamedShape(f"{name}.{part}.weight", shape) for part, shape in shapes.items()}


def _linears(path: Path, config: Mapping[str, Any]) -> list[str]:
    """Return the linear layers of a layer that are adapted."""
    matrices = config.get("attn_matrices", ["q", "v"])
    if not isinstance(matrices, list) or not all(one in ATTENTION for one in matrices):
        raise cant_run(path, "attn_matrices", matrices, f"lists of {', '.join(ATTENTION)}")
    attention = [ATTENTION[one] for one in matrices if config.get("selfattn_lora", True)]
    return attention + [linear for key, linear in ELSEWHERE.items() if config.get(key)]


def _read(file: Path, name: str, linears: Sequence[str], rank: int, base: str, weights: Weights, head: str) -> Weights:
    known = {
        f"{lora_name(linear, name)}.{part}": expected
        for linear in linears
        for part, expected in low_rank_parts(weights, linear, lora_name(linear, head), rank).items()
    }
    return renamed(file, read_weights(file), known, base)


def _read_scales(file: Path, name: str, linears: Sequence[str], base: str, weights: Weights, head: str) -> Weights:
    known = {
        f"{lora_name(linear, name)}.lora_B": NamedShape(
            f"{lora_name(linear, head)}.scale", (len(weights[f"{linear}.weight"]), 1)
        )
        for linear in linears
    }
    return {key: array[:, 0] for key, array in renamed(file, read_weights(file), known, base).items()}
