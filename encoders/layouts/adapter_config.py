"""The common parts of the configurations of AdapterHub's adapters and fusions."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeGuard

from corpora.errors import InputError
from encoders.models.card import ModelCard
from encoders.models.json_files import read_json
from encoders.models.model import Weights
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

_LARGEST = 1e6  # of a scaling or a reduction: beyond it is no number that anyone meant
_SHOWN = 60


@dataclass(frozen=True, slots=True)
class Adapter:
    """An adapter whose configuration was read.

    Attributes:
        file: Its weights.
        name: Its name in the files.
        facts: Facts that the architecture needs beside its weights.
        layers: Numbers of the layers that it changes.
        read: Reads its weights under the names of the architecture, given the base's weights and its head.
        fusible: Whether a fusion can use its output.
    """

    file: Path
    name: str
    facts: Mapping[str, Any]
    layers: Collection[int]
    read: Callable[[Weights, str], Weights]
    fusible: bool = False


class ReadAdapter(Protocol):
    """How each kind of adapter reads its configuration."""

    def __call__(self, path: Path, content: Mapping[str, Any], base: ModelCard) -> Adapter:
        """Read a configuration; missing settings have the library's defaults.

        Args:
            path: Of the configuration.
            content: Of the file.
            base: The network that it is for.

        Returns:
            The adapter.

        Raises:
            InputError: If it is damaged, or a variant that ses can't run.
        """


def read_made_for(path: Path, base: ModelCard) -> dict[str, Any]:
    """Read a configuration file of an adapter or a fusion, and check that it was made for a network.

    Args:
        path: Of the file.
        base: The network.

    Returns:
        Its content: a name, a config, and what the library noted beside.

    Raises:
        InputError: If the file is damaged, or was made for another network.
    """
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
    """Return whether a value is a number of a size that can be meant, which NaN and infinity are not."""
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
    """Return the activation that a configuration names, or raise `InputError` if ses has it not."""
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
