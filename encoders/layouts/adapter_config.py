"""What the configuration of an AdapterHub adapter says, and whether its network is one that ses runs: `seq_bn`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeGuard

from corpora.errors import InputError
from encoders.card import ModelCard
from encoders.layouts.json_files import read_json
from encoders.ops.base import Activation

CONFIG = "adapter_config.json"
SAFETENSORS = "adapter.safetensors"
TORCH = "pytorch_adapter.bin"

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
"""What adapter-transformers called activations until it wrote its version into the file."""

_NEEDED = ("mh_adapter", "output_adapter", "original_ln_before", "reduction_factor", "non_linearity")
_SEQ_BN = {
    "architecture": None,
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
"""What changes the formula, as `seq_bn` (once called `pfeiffer`) has it."""

_INVERTIBLE = ("inv_adapter", "invertible_adapter")
_LARGEST = 1e6  # of a scaling or a reduction: beyond it is no number that anyone meant
_SHOWN = 60


@dataclass(frozen=True, slots=True)
class Adapter:
    """An adapter whose configuration was read.

    Attributes:
        file: Its weights.
        name: What they call it.
        activation: Between its two projections.
        scaling: What it brings is multiplied by it.
        widths: Of the bottleneck, by the number of each layer that has one.
    """

    file: Path
    name: str
    activation: Activation
    scaling: float
    widths: Mapping[int, int]


def read_adapter(folder: Path, base: ModelCard) -> Adapter:
    """Read what an adapter's folder says of it.

    Args:
        folder: Holds its configuration and weights.
        base: The network that it is for.

    Returns:
        The adapter.

    Raises:
        InputError: If it is none, is not of the configuration `seq_bn`, or was made for another network.
    """
    path = folder / CONFIG
    content = read_made_for(path, base)
    config = content["config"]
    if missing := [key for key in _NEEDED if key not in config]:
        raise InputError(f"{path} lacks {', '.join(missing)}; fetch the adapter again.")
    _check_network(path, content)
    activation = str(config["non_linearity"]).lower()
    if "version" not in content:
        activation = _BEFORE_VERSIONS.get(activation, activation)
    if activation not in ACTIVATIONS:
        raise cant_run(path, "non_linearity", activation, f"the activations {', '.join(ACTIVATIONS)}")
    scaling = config.get("scaling", 1.0)
    if not is_number(scaling):
        raise cant_run(path, "scaling", scaling, "adapters that are scaled by a number")
    layers = _layers(path, config.get("leave_out") or [], base)
    widths = {layer: bottleneck_width(path, config["reduction_factor"], layer, base) for layer in layers}
    return Adapter(
        weights_in(folder, SAFETENSORS, TORCH), content["name"], ACTIVATIONS[activation], float(scaling), widths
    )


def read_made_for(path: Path, base: ModelCard) -> dict[str, Any]:
    """Read a configuration file of an adapter or a fusion, and see that it was made for a network.

    Args:
        path: Of the file.
        base: The network.

    Returns:
        Its content: a name, a config, and what the library noted beside.

    Raises:
        InputError: If the file is missing or damaged, or was made for another network.
    """
    if not path.is_file():
        raise InputError(f"{path.parent} holds no {path.name}: name the folder of an adapter that AdapterHub can load.")
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
    """Return the first of some files that is there, or raise `InputError` if none is."""
    found = next((folder / name for name in names if (folder / name).is_file()), None)
    if found is None:
        raise InputError(f"{folder} holds no weights: put {' or '.join(names)} there.")
    return found


def is_number(value: Any, above: float = -_LARGEST) -> TypeGuard[float]:
    """Return whether a value is a number of a size that can be meant, which NaN and infinity are not."""
    return isinstance(value, int | float) and not isinstance(value, bool) and above < value < _LARGEST


def cant_run(path: Path, key: str, value: Any, known: str) -> InputError:
    """Return the error that a file asks for something else than what ses runs."""
    return InputError(f"{path} sets {key} to {str(value)[:_SHOWN]}, which ses can't run; it knows {known}.")


def bottleneck_width(path: Path, reduction: Any, layer: int, base: ModelCard) -> int:
    """Return the width of a layer's bottleneck.

    Args:
        path: Of the file that tells it.
        reduction: One number for all layers, or numbers by layer and a `default`.
        layer: Its number.
        base: The network.

    Returns:
        The width, as the library rounds it.

    Raises:
        InputError: If the file tells none.
    """
    factor = reduction.get(str(layer), reduction.get("default")) if isinstance(reduction, dict) else reduction
    if not is_number(factor, above=1 / _LARGEST):
        raise InputError(f"{path} gives no reduction_factor for layer {layer}; fetch the adapter again.")
    return max(int(base.network.width // factor), 1)


def _check_network(path: Path, content: Mapping[str, Any]) -> None:
    config = content["config"]
    for key, expected in _SEQ_BN.items():
        if config.get(key, expected) != expected:
            raise cant_run(path, key, config[key], "adapters of the configuration seq_bn alone")
    # The first releases wrote it into every adapter, and used it in those of languages alone.
    unused = "version" not in content and content.get("type") == "text_task"
    if wanted := [key for key in _INVERTIBLE if config.get(key) and not unused]:
        raise cant_run(path, wanted[0], config[wanted[0]], "adapters of the configuration seq_bn alone")


def _layers(path: Path, left_out: Any, base: ModelCard) -> list[int]:
    if not isinstance(left_out, list) or not all(type(layer) is int for layer in left_out):
        raise InputError(f"{path} sets leave_out to something that is no list of layers; fetch the adapter again.")
    return [layer for layer in range(base.network.layers) if layer not in left_out]
