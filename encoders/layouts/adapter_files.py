"""What the files of adapters have in common: AdapterHub's configurations, and weights that are checked to be whole."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeGuard

from corpora.errors import InputError, short_list
from corpora.lazy import np
from encoders.architectures.bert import layer_name
from encoders.models.card import ModelCard
from encoders.models.folder import read_json
from encoders.models.model import Weights
from encoders.models.weights import read_weights
from encoders.ops.base import Activation

CONFIG = "adapter_config.json"
SAFETENSORS = "adapter.safetensors"
TORCH = "pytorch_adapter.bin"
ADAPTER_FILES = (CONFIG, SAFETENSORS, TORCH)

ACTIVATIONS: Mapping[str, Activation] = {
    "relu": "relu",
    "gelu": "gelu",
    "silu": "silu",
    "swish": "silu",
    "tanh": "tanh",
    "leaky_relu": "leaky_relu",
    "leakyrelu": "leaky_relu",
}
_BEFORE_VERSIONS = {"gelu": "gelu_new", "gelu_orig": "gelu"}
"""Names of activations in files of adapter-transformers that have no version yet."""

_LARGEST = 1e6  # limit of a scaling or a reduction: larger numbers are mistakes
_SHOWN = 60


@dataclass(frozen=True, slots=True)
class Adapter:
    """An adapter whose configuration was read.

    Attributes:
        file: The file of its weights.
        name: Its name in the files.
        facts: Facts that the architecture needs beside its weights.
        layers: Numbers of the layers that it changes.
        read: Reads its weights under the names of the architecture, given the base's weights and the head's name.
        fusible: Whether a fusion can use its output.
    """

    file: Path
    name: str
    facts: Mapping[str, Any]
    layers: Collection[int]
    read: Callable[[Weights, str], Weights]
    fusible: bool = False


ReadAdapter = Callable[[Path, Mapping[str, Any], ModelCard], Adapter]
"""Reads the configuration of a kind of adapter: its path, its content, and the network that it is for.

Missing settings have the library's defaults. `InputError` if it is damaged, or a variant that ses can't run.
"""


def read_made_for(path: Path, base: ModelCard) -> dict[str, Any]:
    """Read the configuration of an adapter or fusion; `InputError` if it is damaged, or for another network."""
    content: dict[str, Any] = read_json(path, dict)
    kinds = {"name": str, "hidden_size": int, "config": dict}
    if missing := [key for key, kind in kinds.items() if type(content.get(key)) is not kind]:
        raise InputError(f"{path} lacks {', '.join(missing)}; fetch it again.")
    width, family = content["hidden_size"], content.get("model_type") or base.family
    if width != base.network.width:
        raise InputError(
            f"{path} was made for a model with hidden size {width}, and {base.name} has {base.network.width}; "
            "use the base that it was made for."
        )
    if family != base.family:
        raise InputError(
            f"{path} was made for a {str(family)[:_SHOWN]} model, and {base.name} is a {base.family} model; "
            "use the base that it was made for."
        )
    return content


def weights_in(folder: Path, *names: str) -> Path:
    """Return the first of some files that exists, or raise `InputError` if none does."""
    found = next((folder / name for name in names if (folder / name).is_file()), None)
    if found is None:
        raise InputError(f"{folder} holds no weights: put {' or '.join(names)} there.")
    return found


def is_number(value: Any, above: float = -_LARGEST) -> TypeGuard[float]:
    """Return whether a value is a number between two limits, which NaN and infinity are not."""
    return isinstance(value, int | float) and not isinstance(value, bool) and above < value < _LARGEST


def cant_run(path: Path, key: str, value: Any, known: str) -> InputError:
    """Return the error for a file that asks for something that ses can't run."""
    return InputError(f"{path} sets {key} to {str(value)[:_SHOWN]}, which ses can't run; it knows {known}.")


def whole_number(path: Path, config: Mapping[str, Any], key: str, usual: int) -> int:
    """Return a positive whole number of a configuration, or raise `InputError` if it has something else."""
    value: int = config.get(key, usual)
    if type(value) is not int or not 0 < value < _LARGEST:
        raise cant_run(path, key, value, "positive whole numbers")
    return value


def number(path: Path, config: Mapping[str, Any], key: str, usual: float) -> float:
    """Return a number of a configuration, or raise `InputError` if it has something else."""
    value = config.get(key, usual)
    if not is_number(value):
        raise cant_run(path, key, value, "numbers")
    return value


def activation_of(path: Path, content: Mapping[str, Any], usual: str = "") -> Activation:
    """Return the activation that a configuration names, or raise `InputError` if ses does not have it."""
    name = str(content["config"].get("non_linearity", usual)).lower()
    if "version" not in content:
        name = _BEFORE_VERSIONS.get(name, name)
    if name not in ACTIVATIONS:
        raise cant_run(path, "non_linearity", name, f"the activations {', '.join(ACTIVATIONS)}")
    return ACTIVATIONS[name]


def layers_of(path: Path, config: Mapping[str, Any], base: ModelCard) -> list[int]:
    """Return the layers of a network that a configuration doesn't leave out; `InputError` if that is unclear."""
    left_out = config.get("leave_out") or []
    if not isinstance(left_out, list) or not all(type(layer) is int for layer in left_out):
        raise InputError(f"{path} sets leave_out to something that is no list of layers; fetch the adapter again.")
    return [layer for layer in range(base.network.layers) if layer not in left_out]


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
class NamedShape:
    """A weight that a file may hold: its name in the architecture, and its shape."""

    name: str
    shape: tuple[int, ...]


def read_module(
    file: Path,
    kinds: Sequence[str],
    name: str,
    layers: Mapping[int, Parts],
    head: str,
    base: str,
    needed: Collection[int] | None = None,
) -> dict[str, np.ndarray]:
    """Read a bottleneck adapter or a fusion: its weights under the names of the architecture, float32.

    `kinds` are the names of what may hold it in a layer, the name of today first, `name` is its name in the file,
    `layers` are the weights that it may have, by layer, and `head` is the name of its head. Weights in layers that are
    not `needed` are left out; all layers are needed if None. Raises `InputError`, which names the base, if weights are
    missing, unknown or of another shape.
    """
    known: dict[str, NamedShape] = {}
    idle: list[str] = []
    for layer, parts in layers.items():
        for part, shape in parts.items():
            own = NamedShape(f"{prefix_of(layer, kinds[0], head)}{part}", shape)
            known |= {f"{prefix_of(layer, kind, name)}{part}": own for kind in kinds}
            if needed is not None and layer not in needed:
                idle.append(own.name)
    return renamed(file, read_weights(file), known, base, idle)


def renamed(
    file: Path, arrays: Weights, known: Mapping[str, NamedShape], base: str, idle: Collection[str] = ()
) -> dict[str, np.ndarray]:
    """Return a file's weights under the names of the architecture, float32; none may be missing or superfluous.

    `known` has the weight of each name in the file; of several names of one weight, the first is that of today. `idle`
    are the names in the architecture of weights that may be missing, and are left out. Raises `InputError`, which names
    file and base, if weights are missing, unknown or of another shape.
    """
    found = {known[key].name: array for key, array in arrays.items() if key in known}
    today: dict[str, str] = {}
    for key, part in known.items():
        today.setdefault(part.name, key)
    faults = {
        "lacks": [key for name, key in today.items() if name not in found and name not in idle],
        "holds": [key for key in arrays if key not in known],
        "has in another shape": [
            f"{key} {arrays[key].shape}"
            for key, part in known.items()
            if key in arrays and arrays[key].shape != part.shape
        ],
    }
    if any(faults.values()):
        reasons = " and ".join(f"{verb} {short_list(names)}" for verb, names in faults.items() if names)
        raise InputError(f"{file} doesn't fit its configuration and {base}: it {reasons}.")
    return {name: found[name] for name in today if name not in idle}
