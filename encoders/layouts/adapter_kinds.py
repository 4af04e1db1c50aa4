"""The kinds of adapters that ses runs: seq_bn, LoRA, (IA)^3 and prefixes of AdapterHub, and LoRA of PEFT."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from corpora.errors import InputError
from corpora.lazy import np
from encoders.architectures.adapters import lora_name, prefix_name
from encoders.architectures.bert import layer_name
from encoders.layouts.adapter_files import (
    ADAPTER_FILES,
    ADAPTERS,
    CONFIG,
    SAFETENSORS,
    TORCH,
    Adapter,
    NamedShape,
    ReadAdapter,
    activation_of,
    adapter_parts,
    cant_run,
    is_number,
    layers_of,
    number,
    read_made_for,
    read_module,
    renamed,
    weights_in,
    whole_number,
)
from encoders.models.card import ModelCard
from encoders.models.folder import read_json
from encoders.models.model import Weights, is_of_task_head
from encoders.models.weights import plain_name, read_weights
from encoders.ops.base import Activation

_NEEDED = ("mh_adapter", "output_adapter", "original_ln_before", "reduction_factor", "non_linearity")
SEQ_BN = {
    "mh_adapter": False,
    "output_adapter": True,
    "original_ln_before": True,
    "original_ln_after": True,
    "residual_before_ln": True,
    "ln_before": False,
    "ln_after": False,
    "is_parallel": False,
    "phm_layer": False,
    "use_gating": False,
}
"""Settings that change the formula, with the values of `seq_bn`."""

_KNOWN = "bottleneck adapters of the configuration seq_bn alone"
_INVERTIBLE = ("inv_adapter", "invertible_adapter")
_NARROWEST = 1e-6


def read_bottleneck(path: Path, content: Mapping[str, Any], base: ModelCard) -> Adapter:
    """Read what a configuration says of a bottleneck adapter; it must be `seq_bn`."""
    config = content["config"]
    if missing := [key for key in _NEEDED if key not in config]:
        raise InputError(f"{path} lacks {', '.join(missing)}; fetch the adapter again.")
    _check_seq_bn(path, content)
    facts = {"activation": activation_of(path, content), "scaling": float(number(path, config, "scaling", 1.0))}
    widths = {
        layer: bottleneck_width(path, config["reduction_factor"], layer, base)
        for layer in layers_of(path, config, base)
    }
    file, name = weights_in(path.parent, SAFETENSORS, TORCH), content["name"]

    def read(_: Weights, head: str) -> Weights:
        layers = {layer: adapter_parts(base.network.width, narrow) for layer, narrow in widths.items()}
        return read_module(file, ADAPTERS, name, layers, head, base.name)

    return Adapter(file, name, facts, widths, read, fusible=True)


def bottleneck_width(path: Path, reduction: Any, layer: int, base: ModelCard) -> int:
    """Return the width of a layer's bottleneck as the library rounds it; `InputError` if there is no number for it."""
    factor = reduction.get(str(layer), reduction.get("default")) if isinstance(reduction, dict) else reduction
    if not is_number(factor, above=_NARROWEST):
        raise InputError(f"{path} gives no reduction_factor for layer {layer}; fetch the adapter again.")
    return max(int(base.network.width // factor), 1)


def _check_seq_bn(path: Path, content: Mapping[str, Any]) -> None:
    config = content["config"]
    for key, expected in SEQ_BN.items():
        if config.get(key, expected) != expected:
            raise cant_run(path, key, config[key], _KNOWN)
    # The first releases wrote it into every adapter, and used it in those of languages alone.
    unused = "version" not in content and content.get("type") == "text_task"
    if wanted := [key for key in _INVERTIBLE if config.get(key) and not unused]:
        raise cant_run(path, wanted[0], config[wanted[0]], _KNOWN)


ATTENTION = {"q": "attention.self.query", "k": "attention.self.key", "v": "attention.self.value"}
"""Linear layers that the configuration lists."""

ELSEWHERE = {"intermediate_lora": "intermediate.dense", "output_lora": "output.dense"}
"""Linear layers that have a setting of their own, by its key."""

_REFUSED = ("use_gating", "use_dora", "vera_d", "vera_b")
"""Variants that the library computes otherwise; its gates take the mean over padding too."""


def read_lora(path: Path, content: Mapping[str, Any], base: ModelCard) -> Adapter:
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
    linears = [f"{layer_name(layer)}.{linear}" for layer in layers for linear in _adapted_linears(path, config)]
    file, name = weights_in(path.parent, SAFETENSORS, TORCH), content["name"]

    def read(weights: Weights, head: str) -> Weights:
        named = {lora_name(linear, name): linear for linear in linears}
        if mode == "add":
            return renamed(file, read_weights(file), _low_rank_weights(weights, named, head, rank, ""), base.name)
        known = {
            f"{own}.lora_B": NamedShape(f"{lora_name(linear, head)}.scale", (len(weights[f"{linear}.weight"]), 1))
            for own, linear in named.items()
        }
        return {key: array[:, 0] for key, array in renamed(file, read_weights(file), known, base.name).items()}

    return Adapter(file, name, {"scaling": alpha / rank}, layers if linears else [], read)


def _low_rank_weights(
    weights: Weights, named: Mapping[str, str], head: str, rank: int, end: str
) -> dict[str, NamedShape]:
    """Return LoRA's matrices by their names in a file; `named` has each linear layer of the base by its name there."""
    known: dict[str, NamedShape] = {}
    for own, linear in named.items():
        outputs, inputs = weights[f"{linear}.weight"].shape
        for part, shape in (("lora_A", (rank, inputs)), ("lora_B", (outputs, rank))):
            known[f"{own}.{part}{end}"] = NamedShape(f"{lora_name(linear, head)}.{part}.weight", shape)
    return known


def _adapted_linears(path: Path, config: Mapping[str, Any]) -> list[str]:
    """Return the linear layers of a layer that are adapted."""
    matrices = config.get("attn_matrices", ["q", "v"])
    if not isinstance(matrices, list) or not all(isinstance(one, str) and one in ATTENTION for one in matrices):
        raise cant_run(path, "attn_matrices", matrices, f"lists of {', '.join(ATTENTION)}")
    attention = [ATTENTION[one] for one in matrices if config.get("selfattn_lora", True)]
    return attention + [linear for key, linear in ELSEWHERE.items() if config.get(key)]


PEFT_SAFETENSORS = "adapter_model.safetensors"
PEFT_TORCH = "adapter_model.bin"

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


def read_peft(path: Path, content: Mapping[str, Any], base: ModelCard) -> Adapter:
    """Read what a configuration of PEFT, which has a `peft_type`, says; it must be LoRA."""
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
    linears = _peft_linears(path, content, base)
    scaling = alpha / (math.sqrt(rank) if content.get("use_rslora") else rank)
    file = weights_in(path.parent, PEFT_SAFETENSORS, PEFT_TORCH)

    def read(weights: Weights, head: str) -> Weights:
        arrays = {plain_name(name.removeprefix(_WRAPPED)): array for name, array in read_weights(file).items()}
        # A target such as `dense` takes in the pooler, and a classifier is saved too; no vector depends on them.
        own = {name: array for name, array in arrays.items() if not is_of_task_head(name)}
        named = {name: name for name in (f"{layer_name(layer)}.{linear}" for layer, linear in linears)}
        return renamed(file, own, _low_rank_weights(weights, named, head, rank, ".weight"), base.name)

    return Adapter(file, path.parent.name, {"scaling": scaling}, sorted({layer for layer, _ in linears}), read)


def _peft_linears(path: Path, content: Mapping[str, Any], base: ModelCard) -> list[tuple[int, str]]:
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


def read_prefix(path: Path, content: Mapping[str, Any], base: ModelCard) -> Adapter:
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

    def read(_: Weights, head: str) -> Weights:
        known, parts = _gates(name, prefix), _parts(prefix)
        # Every layer holds what makes the prefixes of all, and so does the model.
        places = [f"{layer_name(layer)}.attention.self.prefix_tuning.pool" for layer in range(base.network.layers)]
        for place in ("prefix_tuning", *places):
            for part, shape in parts.items():
                known[f"{place}.prefix_tunings.{name}.self_prefix.{part}"] = NamedShape(part, shape)
        return _prefix_weights(renamed(file, read_weights(file), known, base.name), prefix, head)

    facts = {"prefix_length": prefix.length, "activation": prefix.activation}
    return Adapter(file, name, facts, prefix.layers, read)


def _prefix_weights(arrays: Weights, prefix: _Prefix, head: str) -> Weights:
    """Return keys and values, (1, length, width), and gates of each layer, under the architecture's names."""
    flat = arrays["control_trans"] if not prefix.bottleneck else _made(arrays, prefix.activation)
    by_layer: np.ndarray = flat.reshape(prefix.length, len(prefix.layers), 2, prefix.width)
    weights: dict[str, np.ndarray] = {}
    for index, layer in enumerate(prefix.layers):
        own = prefix_name(layer, head)
        weights |= {f"{own}.{part}": by_layer[None, :, index, row] for row, part in enumerate(("key", "value"))}
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
    """Return the activation of states, float32 in their shape."""
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
    """Return what the small network makes of its table, float32 (length, keys and values of all layers)."""
    inner = arrays["wte.weight"] @ arrays["control_trans.0.weight"].T + arrays["control_trans.0.bias"]
    made: np.ndarray = (
        _activated(inner, activation) @ arrays["control_trans.2.weight"].T + arrays["control_trans.2.bias"]
    )
    return made


FILES = (*ADAPTER_FILES, PEFT_SAFETENSORS, PEFT_TORCH)
"""What an adapter's folder may hold."""

_KINDS: Mapping[str | None, ReadAdapter] = {None: read_bottleneck, "lora": read_lora, "prefix_tuning": read_prefix}
"""By the `architecture` of AdapterHub's configurations; bottlenecks have none."""


def read_adapter(folder: Path, base: ModelCard) -> Adapter:
    """Read an adapter's folder, for a network; `InputError` if ses can't run it, or it was made for another network."""
    path = folder / CONFIG
    if not path.is_file():
        raise InputError(f"{folder} holds no {CONFIG}: name the folder of an adapter that AdapterHub or PEFT can load.")
    content = read_json(path, dict)
    if "peft_type" in content:
        return read_peft(path, content, base)
    content = read_made_for(path, base)
    kind = content["config"].get("architecture")
    if kind is not None and (not isinstance(kind, str) or kind not in _KINDS):
        raise cant_run(path, "architecture", kind, "bottleneck adapters (seq_bn), lora, ia3 and prefix_tuning")
    return _KINDS[kind](path, content, base)
