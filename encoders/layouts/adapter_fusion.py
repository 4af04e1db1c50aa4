"""What the configuration of an AdapterHub fusion says, and whether it is one that ses runs: `dynamic`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from corpora.errors import InputError
from encoders.layouts.adapter_config import cant_run, read_made_for, weights_in
from encoders.models.card import ModelCard

CONFIG = "adapter_fusion_config.json"
SAFETENSORS = "model_adapter_fusion.safetensors"
TORCH = "pytorch_model_adapter_fusion.bin"

_DYNAMIC = {
    "key": True,
    "query": True,
    "value": True,
    "query_before_ln": False,
    "residual_before": False,
    "temperature": False,
}
"""What changes the formula, as `dynamic` has it. Values before or after the softmax are the same: both are linear."""


@dataclass(frozen=True, slots=True)
class AdapterFusion:
    """A fusion whose configuration was read.

    Attributes:
        file: Its weights.
        name: What they call it.
        adapters: Names of those it fuses.
    """

    file: Path
    name: str
    adapters: tuple[str, ...]


def read_fusion(folder: Path, base: ModelCard) -> AdapterFusion:
    """Read what a fusion's folder says of it.

    Args:
        folder: Holds its configuration and weights.
        base: The network that it is for.

    Returns:
        The fusion.

    Raises:
        InputError: If it is none, is not of the configuration `dynamic`, or was made for another network.
    """
    path = folder / CONFIG
    content = read_made_for(path, base)
    if missing := [key for key in _DYNAMIC if key not in content["config"]]:
        raise InputError(f"{path} lacks {', '.join(missing)}; fetch the fusion again.")
    for key, expected in _DYNAMIC.items():
        if content["config"][key] != expected:
            raise cant_run(path, key, content["config"][key], "fusions of the configuration dynamic alone")
    # The library tells them apart only since 1.0; before, they were the name.
    adapters = content.get("adapter_names") or content["name"].split(",")
    if not isinstance(adapters, list) or not all(isinstance(one, str) for one in adapters):
        raise InputError(f"{path} doesn't tell which adapters it fuses; fetch the fusion again.")
    return AdapterFusion(weights_in(folder, SAFETENSORS, TORCH), content["name"], tuple(adapters))
