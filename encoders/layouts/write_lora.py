"""Writes LoRA in the form that AdapterHub's library loads (Hu et al. 2021; `LoRAConfig` of adapters 1.3)."""

from __future__ import annotations

from pathlib import Path

from encoders.architectures.bert import layer_name
from encoders.layouts.adapter_lora import ATTENTION, ELSEWHERE
from encoders.layouts.write_files import FileForm, as_library_names, write_hub_files
from encoders.models.card import ModelCard
from encoders.models.model import Weights
from encoders.ops.lora import lora_name

_CONFIG = {
    "architecture": "lora",
    "composition_mode": "add",
    "dropout": 0.0,
    "init_weights": "lora",
    "use_gating": False,
    "use_dora": False,
    "vera_d": None,
    "vera_b": None,
}


def write_lora(
    folder: Path,
    weights: Weights,
    head: str,
    *,
    name: str,
    base: ModelCard,
    scaling: float = 1.0,
    form: FileForm = "safetensors",
) -> None:
    """Write LoRA of one of a model's heads.

    Args:
        folder: Where to; made if it is not there.
        weights: Of the model, under the names of its architecture.
        head: Whose.
        name: What the library shall call it, such as `[PRX]`.
        base: The network that it is for.
        scaling: What it brings is multiplied by it: alpha / r.
        form: Of the weights' file.

    Raises:
        InputError: If the library has no adapters for the network.
        UnavailableError: If the folder can't be written, or torch is missing for its form.
        ValueError: If the weights hold none for that head, or not the same linear layers wherever they hold some.
    """
    numbers, places = range(base.network.layers), ATTENTION | ELSEWHERE
    found = {
        (layer, key)
        for layer in numbers
        for key, place in places.items()
        if f"{lora_name(f'{layer_name(layer)}.{place}', head)}.lora_A.weight" in weights
    }
    layers, adapted = {layer for layer, _ in found}, {key for _, key in found}
    linears = [f"{layer_name(layer)}.{places[key]}" for layer in sorted(layers) for key in places if key in adapted]
    names = {
        f"{lora_name(linear, head)}.{part}.weight": f"{lora_name(linear, name)}.{part}"
        for linear in linears
        for part in ("lora_A", "lora_B")
    }
    arrays = as_library_names(weights, names, base, f"LoRA of {head}")
    rank = len(weights[next(iter(names))])
    config = _CONFIG | {
        "r": rank,
        "alpha": scaling * rank,
        "attn_matrices": [key for key in ATTENTION if key in adapted],
        "selfattn_lora": not adapted.isdisjoint(ATTENTION),
        **{key: key in adapted for key in ELSEWHERE},
        "leave_out": [layer for layer in numbers if layer not in layers],
    }
    write_hub_files(folder, base, name, config, arrays, form)
