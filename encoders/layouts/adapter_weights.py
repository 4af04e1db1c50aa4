"""The weights of adapters and fusions: read under the names of the architectures, and checked to be whole."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from corpora.errors import InputError
from encoders.architectures.bert import layer_name
from encoders.weights import read_weights

if TYPE_CHECKING:
    import numpy as np

Parts = Mapping[str, tuple[int, ...]]
"""Shapes of a module's weights by name."""

ADAPTERS = ("adapters", "layer_text_task_adapters", "layer_text_lang_adapters")
"""What holds the adapters of a layer; the latter two in files of adapter-transformers 1."""

FUSIONS = ("adapter_fusion_layer",)
"""What holds the fusions of a layer."""

_SHOWN = 5


def adapter_parts(width: int, narrow: int) -> Parts:
    """Return the weights of an adapter in a layer, given the widths of the network and of the bottleneck."""
    return {
        "adapter_down.0.weight": (narrow, width),
        "adapter_down.0.bias": (narrow,),
        "adapter_up.weight": (width, narrow),
        "adapter_up.bias": (width,),
    }


def fusion_parts(width: int) -> Parts:
    """Return the weights of a fusion in a layer, given the width of the network."""
    square, row = (width, width), (width,)
    return {"query.weight": square, "query.bias": row, "key.weight": square, "key.bias": row, "value.weight": square}


def prefix_of(layer: int, kind: str, name: str) -> str:
    """Return what the names of a module's weights start with."""
    return f"{layer_name(layer)}.output.{kind}.{name}."


@dataclass(frozen=True, slots=True)
class Module:
    """An adapter or a fusion in a file.

    Attributes:
        file: Its weights.
        kinds: What may hold it in a layer, the name of today first.
        name: What the file calls it.
        layers: What it may have in each layer.
        needed: Layers where it is used; what it has in others is left out.
    """

    file: Path
    kinds: Sequence[str]
    name: str
    layers: Mapping[int, Parts]
    needed: Collection[int]


def read_module(module: Module, head: str, base: str) -> dict[str, np.ndarray]:
    """Read the weights of an adapter or a fusion.

    Args:
        module: Which.
        head: What to call it.
        base: Name of the network that it is for.

    Returns:
        Arrays by name, float32.

    Raises:
        InputError: If weights are missing, unknown or of another shape.
    """
    known = {
        f"{prefix_of(layer, kind, module.name)}{part}": (layer, part)
        for layer, parts in module.layers.items()
        for kind in module.kinds
        for part in parts
    }
    arrays = read_weights(module.file)
    found = {known[key]: array for key, array in arrays.items() if key in known}
    today = module.kinds[0]
    needed = [(layer, part) for layer in module.needed for part in module.layers[layer]]
    told = {
        "lacks": [
            f"{prefix_of(layer, today, module.name)}{part}" for layer, part in needed if (layer, part) not in found
        ],
        "holds": [key for key in arrays if key not in known],
        "has in another shape": [
            f"{key} {arrays[key].shape}"
            for key, (layer, part) in known.items()
            if key in arrays and arrays[key].shape != module.layers[layer][part]
        ],
    }
    if any(told.values()):
        faults = " and ".join(f"{verb} {_listed(names)}" for verb, names in told.items() if names)
        raise InputError(f"{module.file} doesn't fit its configuration and {base}: it {faults}.")
    return {f"{prefix_of(layer, today, head)}{part}": found[layer, part] for layer, part in needed}


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more
