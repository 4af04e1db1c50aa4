"""The weights of adapters and fusions: read under the names of the architectures, and checked to be whole."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from corpora.errors import InputError, some
from encoders.architectures.bert import layer_name
from encoders.models.model import Weights
from encoders.models.weights import read_weights

if TYPE_CHECKING:
    import numpy as np

Parts = Mapping[str, tuple[int, ...]]
"""Shapes of a module's weights by name."""

ADAPTERS = ("adapters", "layer_text_task_adapters", "layer_text_lang_adapters")
"""What holds the adapters of a layer; the latter two in files of adapter-transformers 1."""

FUSIONS = ("adapter_fusion_layer",)
"""What holds the fusions of a layer."""


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
    """A bottleneck adapter or a fusion in a file.

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


@dataclass(frozen=True, slots=True)
class NamedShape:
    """A weight that a file may hold: its name in the architecture, and its shape."""

    name: str
    shape: tuple[int, ...]


def read_module(module: Module, head: str, base: str) -> dict[str, np.ndarray]:
    """Read the weights of a bottleneck adapter or a fusion.

    Args:
        module: Which.
        head: What to call it.
        base: Name of the network that it is for.

    Returns:
        Arrays by name, float32.

    Raises:
        InputError: If weights are missing, unknown or of another shape.
    """
    known: dict[str, NamedShape] = {}
    idle: list[str] = []
    for layer, parts in module.layers.items():
        for part, shape in parts.items():
            own = NamedShape(f"{prefix_of(layer, module.kinds[0], head)}{part}", shape)
            known |= {f"{prefix_of(layer, kind, module.name)}{part}": own for kind in module.kinds}
            if layer not in module.needed:
                idle.append(own.name)
    return renamed(module.file, read_weights(module.file), known, base, idle)


def renamed(
    file: Path, arrays: Weights, known: Mapping[str, NamedShape], base: str, idle: Collection[str] = ()
) -> dict[str, np.ndarray]:
    """Return a file's weights under the names of the architecture, and check that none is missing or superfluous.

    Args:
        file: For messages.
        arrays: What it holds.
        known: What each name in the file is; of several names of one weight, the first is that of today.
        base: Name of the network that they are for.
        idle: Names in the architecture of those that may be missing, and are left out.

    Returns:
        Arrays by their names in the architecture, float32.

    Raises:
        InputError: If weights are missing, unknown or of another shape.
    """
    found = {known[key].name: array for key, array in arrays.items() if key in known}
    today: dict[str, str] = {}
    for key, part in known.items():
        today.setdefault(part.name, key)
    told = {
        "lacks": [key for name, key in today.items() if name not in found and name not in idle],
        "holds": [key for key in arrays if key not in known],
        "has in another shape": [
            f"{key} {arrays[key].shape}"
            for key, part in known.items()
            if key in arrays and arrays[key].shape != part.shape
        ],
    }
    if any(told.values()):
        faults = " and ".join(f"{verb} {some(names)}" for verb, names in told.items() if names)
        raise InputError(f"{file} doesn't fit its configuration and {base}: it {faults}.")
    return {name: found[name] for name in today if name not in idle}
