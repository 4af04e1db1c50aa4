"""Prefix tuning of AdapterHub (`prefix_tuning`): flat, or made by a small network, which is run once here."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from encoders.architectures.bert import layer_name
from encoders.architectures.prefix_tuning import prefix_name
from encoders.layouts.adapter_config import (
    SAFETENSORS,
    TORCH,
    Adapter,
    activation_of,
    layers_of,
    weights_in,
    whole_number,
)
from encoders.layouts.adapter_weights import NamedShape, renamed
from encoders.models.card import ModelCard
from encoders.models.model import Weights
from encoders.models.weights import read_weights
from encoders.ops.base import Activation

if TYPE_CHECKING:
    import numpy as np

_GATES: Mapping[int, Sequence[str]] = {0: (), 1: ("gate",), 2: ("key_gate", "value_gate")}


@dataclass(frozen=True, slots=True)
class _Prefix:
    """What a configuration says of a prefix: its length, and the network that makes it unless it is flat."""

    layers: Sequence[int]
    length: int
    width: int
    gates: int
    bottleneck: int
    activation: Activation


def read(path: Path, content: Mapping[str, Any], base: ModelCard) -> Adapter:
    """Read what a configuration says of a prefix."""
    config = content["config"]
    flat, gated = bool(config.get("flat", False)), bool(config.get("use_gating", False))
    prefix = _Prefix(
        layers=layers_of(path, config, base),
        length=whole_number(path, config, "prefix_length", 30),
        width=base.network.width,
        gates=(1 if config.get("shared_gating", True) else 2) if gated else 0,
        bottleneck=0 if flat else whole_number(path, config, "bottleneck_size", 512),
        activation="tanh" if flat else activation_of(path, content, "tanh"),
    )
    file, name = weights_in(path.parent, SAFETENSORS, TORCH), content["name"]
    reading = functools.partial(_read, file, name, prefix, base)
    facts = {"prefix_length": prefix.length, "activation": prefix.activation}
    return Adapter(file, name, facts, prefix.layers, reading)


def _read(file: Path, name: str, prefix: _Prefix, base: ModelCard, _: Weights, head: str) -> Weights:
    known, parts = _gates(name, prefix), _parts(prefix)
    # Every layer holds what makes the prefixes of all, and so does the model.
    places = [f"{layer_name(layer)}.attention.self.prefix_tuning.pool" for layer in range(base.network.layers)]
    for place in ("prefix_tuning", *places):
        for part, shape in parts.items():
            known[f"{place}.prefix_tunings.{name}.self_prefix.{part}"] = NamedShape(part, shape)
    arrays = renamed(file, read_weights(file), known, base.name)
    flat = arrays["control_trans"] if not prefix.bottleneck else _made(arrays, prefix.activation)
    by_layer: np.ndarray = flat.reshape(prefix.length, len(prefix.layers), 2, prefix.width)
    weights: dict[str, np.ndarray] = {}
    for number, layer in enumerate(prefix.layers):
        own = prefix_name(layer, head)
        weights |= {f"{own}.{part}": by_layer[None, :, number, row] for row, part in enumerate(("key", "value"))}
        weights |= {
            f"{own}.{gate}.{part}": arrays[f"{layer}.{part}"][row : row + 1]
            for row, gate in enumerate(_GATES[prefix.gates])
            for part in ("weight", "bias")
        }
    return weights


def _parts(prefix: _Prefix) -> dict[str, tuple[int, ...]]:
    """Return the shapes of what makes the keys and values of all layers."""
    size = len(prefix.layers) * 2 * prefix.width
    if not prefix.bottleneck:
        return {"control_trans": (prefix.length * size,)}
    return {
        "wte.weight": (prefix.length, prefix.width),
        "control_trans.0.weight": (prefix.bottleneck, prefix.width),
        "control_trans.0.bias": (prefix.bottleneck,),
        "control_trans.2.weight": (size, prefix.bottleneck),
        "control_trans.2.bias": (size,),
    }


def _gates(name: str, prefix: _Prefix) -> dict[str, NamedShape]:
    shapes = {"weight": (prefix.gates, prefix.width), "bias": (prefix.gates,)} if prefix.gates else {}
    return {
        f"{layer_name(layer)}.attention.self.prefix_tuning.prefix_gates.{name}.{part}": NamedShape(
            f"{layer}.{part}", shape
        )
        for layer in prefix.layers
        for part, shape in shapes.items()
    }


def _activated(states: np.ndarray, kind: Activation) -> np.ndarray:
    import numpy as np

    if kind == "gelu":
        error_function = np.vectorize(math.erf, otypes=[np.float32])
        return np.asarray(states * (1 + error_function(states / math.sqrt(2))) / 2)
    others: dict[str, np.ndarray] = {
        "relu": np.maximum(states, 0),
        "silu": states / (1 + np.exp(-states)),
        "tanh": np.tanh(states),
        "leaky_relu": np.where(states > 0, states, 0.01 * states),
    }
    return others[kind]


def _made(arrays: Weights, activation: Activation) -> np.ndarray:
    """Return what the small network makes of its table, (length, keys and values of all layers)."""
    inner = arrays["wte.weight"] @ arrays["control_trans.0.weight"].T + arrays["control_trans.0.bias"]
    made: np.ndarray = (
        _activated(inner, activation) @ arrays["control_trans.2.weight"].T + arrays["control_trans.2.bias"]
    )
    return made
