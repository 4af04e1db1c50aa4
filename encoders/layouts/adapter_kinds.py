"""All kinds of adapters. A new one needs one file and one line here."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from corpora.errors import InputError
from encoders.layouts import adapter_bottleneck, adapter_lora, adapter_peft, adapter_prefix
from encoders.layouts.adapter_config import CONFIG, SAFETENSORS, TORCH, Adapter, ReadAdapter, cant_run, read_made_for
from encoders.models.card import ModelCard
from encoders.models.json_files import read_json

FILES = (CONFIG, SAFETENSORS, TORCH, adapter_peft.SAFETENSORS, adapter_peft.TORCH)
"""What an adapter's folder may hold."""

_KINDS: Mapping[str | None, ReadAdapter] = {
    None: adapter_bottleneck.read,
    "lora": adapter_lora.read,
    "prefix_tuning": adapter_prefix.read,
}
"""By the `architecture` of AdapterHub's configurations; bottlenecks have none."""


def read_adapter(folder: Path, base: ModelCard) -> Adapter:
    """Read the configuration in an adapter's folder.

    Args:
        folder: Holds its configuration and weights, as AdapterHub or PEFT wrote them.
        base: The network that it is for.

    Returns:
        The adapter.

    Raises:
        InputError: If it is none, is of a kind that ses can't run, or was made for another network.
    """
    path = folder / CONFIG
    if not path.is_file():
        raise InputError(f"{folder} holds no {CONFIG}: name the folder of an adapter that AdapterHub or PEFT can load.")
    content = read_json(path, dict)
    if "peft_type" in content:
        return adapter_peft.read(path, content, base)
    content = read_made_for(path, base)
    kind = content["config"].get("architecture")
    if kind is not None and kind not in _KINDS:
        raise cant_run(path, "architecture", kind, "bottleneck adapters (seq_bn), lora, ia3 and prefix_tuning")
    return _KINDS[kind](path, content, base)
