"""Adapters and fusions written as safetensors, in the form that AdapterHub's library loads.

The library reads them where it is asked to (`load_adapter(folder, use_safetensors=True)`). Each function makes its
folder. It raises `InputError` if the library has no adapters for the network, and `UnavailableError` if the folder
can't be written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from corpora.errors import InputError
from encoders.architectures.adapters import lora_name
from encoders.architectures.bert import layer_name
from encoders.layouts.adapter_files import (
    ADAPTER_FILES,
    ADAPTERS,
    FUSIONS,
    Parts,
    adapter_parts,
    fusion_parts,
    prefix_of,
)
from encoders.layouts.adapter_kinds import ATTENTION, ELSEWHERE, SEQ_BN
from encoders.layouts.adapterhub import DYNAMIC, FUSION_FILES
from encoders.models.card import ModelCard
from encoders.models.folder import write_json, writing
from encoders.models.model import Weights
from encoders.models.weights import write_safetensors
from encoders.ops.base import Activation

_VERSION = "adapters.1.3.0"
"""The release whose form this is; without one, the library would rename activations as in its first releases."""

_LIBRARY_NAMES = {
    "bert": ("bert", "BertAdapterModel"),
    "roberta": ("roberta", "RobertaAdapterModel"),
    "xlm-roberta": ("roberta", "XLMRobertaAdapterModel"),
}


def _as_library_names(weights: Weights, names: Mapping[str, str], base: ModelCard, what: str) -> dict[str, np.ndarray]:
    """Return weights by the library's names, float32; `ValueError` if some of those to rename are missing."""
    if not names or not names.keys() <= weights.keys():
        raise ValueError(f"The weights hold no complete {what}.")
    below, _ = _library_names(base)
    return {f"{below}.{new}": np.ascontiguousarray(weights[old], dtype=np.float32) for old, new in names.items()}


def _write_files(
    folder: Path,
    base: ModelCard,
    name: str,
    config: Mapping[str, Any],
    arrays: Mapping[str, np.ndarray],
    *,
    fuses: tuple[str, ...] = (),
) -> None:
    """Write an adapter, or a fusion of the adapters `fuses`, into a folder as AdapterHub's library does."""
    settings = {
        "hidden_size": base.network.width,
        "model_type": base.family,
        "model_class": _library_names(base)[1],
        # The file may be published, so a model on this machine is named by its folder alone, without the path.
        "model_name": Path(base.name).name if Path(base.name).is_absolute() else base.name,
        "name": name,
        "config": dict(config),
        "version": _VERSION,
    }
    described, safetensors, torch = FUSION_FILES if fuses else ADAPTER_FILES
    with writing(folder):
        write_json(folder / described, settings | ({"adapter_names": list(fuses)} if fuses else {}))
        (folder / torch).unlink(missing_ok=True)  # otherwise an older file of that form might be read instead
        write_safetensors(folder / safetensors, arrays)


def _library_names(base: ModelCard) -> tuple[str, str]:
    """Return what the library calls a network's part below the heads, and the whole."""
    if base.family not in _LIBRARY_NAMES:
        raise InputError(
            f"AdapterHub's library has no adapters for {base.family} models; take one of {', '.join(_LIBRARY_NAMES)}."
        )
    return _LIBRARY_NAMES[base.family]


_SEQ_BN = SEQ_BN | {
    "adapter_residual_before_ln": False,
    "inv_adapter": None,
    "inv_adapter_reduction_factor": None,
    "cross_adapter": False,
    "init_weights": "bert",
    "dropout": 0.0,
}
_DYNAMIC = DYNAMIC | {
    "regularization": True,
    "value_before_softmax": True,
    "value_initialized": True,
    "dropout_prob": None,
}


def write_adapter(
    folder: Path,
    weights: Weights,
    head: str,
    *,
    name: str,
    base: ModelCard,
    activation: Activation = "relu",
    scaling: float = 1.0,
) -> None:
    """Write a head's adapter under the library's `name`, such as `[PRX]`; `ValueError` if the weights lack it."""
    network = base.network
    widths = {
        layer: len(weights[key])
        for layer in range(network.layers)
        if (key := f"{prefix_of(layer, ADAPTERS[0], head)}adapter_down.0.weight") in weights
    }
    layers = {layer: adapter_parts(network.width, narrow) for layer, narrow in widths.items()}
    factors = {layer: _factor(network.width, narrow) for layer, narrow in widths.items()}
    one = set(factors.values())
    config = _SEQ_BN | {
        "reduction_factor": one.pop() if len(one) == 1 else {str(layer): factor for layer, factor in factors.items()},
        "non_linearity": activation,
        "scaling": float(scaling),  # the library rejects whole numbers
        "leave_out": [layer for layer in range(network.layers) if layer not in widths],
    }
    arrays = _library_weights(weights, ADAPTERS[0], head, name, layers, base)
    _write_files(folder, base, name, config, arrays)


def write_fusion(folder: Path, weights: Weights, head: str, *, adapters: Sequence[str], base: ModelCard) -> None:
    """Write a head's fusion of adapters, its own first as in SciRepEval; `ValueError` if the weights lack it."""
    name, width = ",".join(adapters), base.network.width
    layers = {
        layer: fusion_parts(width)
        for layer in range(base.network.layers)
        if f"{prefix_of(layer, FUSIONS[0], head)}query.weight" in weights
    }
    arrays = _library_weights(weights, FUSIONS[0], head, name, layers, base)
    _write_files(folder, base, name, _DYNAMIC, arrays, fuses=tuple(adapters))


def _library_weights(
    weights: Weights, kind: str, head: str, name: str, layers: Mapping[int, Parts], base: ModelCard
) -> dict[str, np.ndarray]:
    """Return a module's weights by the library's names, float32 in their shapes."""
    names = {
        f"{prefix_of(layer, kind, head)}{part}": f"{prefix_of(layer, kind, name)}{part}"
        for layer, parts in layers.items()
        for part in parts
    }
    return _as_library_names(weights, names, base, f"{head} of the kind {kind}")


def _factor(width: int, narrow: int) -> float:
    """Return a reduction factor that the library rounds to the very width of a bottleneck."""
    exact = width / narrow
    if exact.is_integer():
        return int(exact)
    return exact if width // exact == narrow else float(np.nextafter(exact, 0))


_LORA: dict[str, Any] = {
    "architecture": "lora",
    "composition_mode": "add",
    "dropout": 0.0,
    "init_weights": "lora",
    "use_gating": False,
    "use_dora": False,
    "vera_d": None,
    "vera_b": None,
}


def write_lora(folder: Path, weights: Weights, head: str, *, name: str, base: ModelCard, scaling: float = 1.0) -> None:
    """Write a head's LoRA; `ValueError` if the weights hold none, or not the same linear layers in every layer."""
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
    arrays = _as_library_names(weights, names, base, f"LoRA of {head}")
    rank = len(weights[next(iter(names))])
    config = _LORA | {
        "r": rank,
        "alpha": scaling * rank,
        "attn_matrices": [key for key in ATTENTION if key in adapted],
        "selfattn_lora": not adapted.isdisjoint(ATTENTION),
        **{key: key in adapted for key in ELSEWHERE},
        "leave_out": [layer for layer in numbers if layer not in layers],
    }
    _write_files(folder, base, name, config, arrays)
