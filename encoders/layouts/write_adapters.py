"""Adapters and fusions written so that AdapterHub's library loads them.

It reads safetensors where it is asked to (`load_adapter(folder, use_safetensors=True)`); SciRepEval's code and older
releases only read the torch form.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from corpora.errors import InputError, UnavailableError
from encoders.card import ModelCard
from encoders.layouts import adapter_config, adapter_fusion
from encoders.layouts.adapter_weights import ADAPTERS, FUSIONS, adapter_parts, fusion_parts, prefix_of
from encoders.model import Weights
from encoders.ops.base import Activation

if TYPE_CHECKING:
    import numpy as np

FileForm = Literal["safetensors", "torch"]

_VERSION = "adapters.1.3.0"
"""The release whose form this is; without one, the library would rename activations as in its first releases."""

_LIBRARY_NAMES = {
    "bert": ("bert", "BertAdapterModel"),
    "roberta": ("roberta", "RobertaAdapterModel"),
    "xlm-roberta": ("roberta", "XLMRobertaAdapterModel"),
}

_SEQ_BN = {
    "mh_adapter": False,
    "output_adapter": True,
    "original_ln_before": True,
    "original_ln_after": True,
    "residual_before_ln": True,
    "adapter_residual_before_ln": False,
    "ln_before": False,
    "ln_after": False,
    "is_parallel": False,
    "use_gating": False,
    "phm_layer": False,
    "inv_adapter": None,
    "inv_adapter_reduction_factor": None,
    "cross_adapter": False,
    "init_weights": "bert",
    "dropout": 0.0,
}
_DYNAMIC = {
    "key": True,
    "query": True,
    "value": True,
    "query_before_ln": False,
    "regularization": True,
    "residual_before": False,
    "temperature": False,
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
    form: FileForm = "safetensors",
) -> None:
    """Write one of a model's adapters.

    Args:
        folder: Where to; made if it is not there.
        weights: Of the model, under the names of its architecture.
        head: Which of its adapters.
        name: What the library shall call it, such as `[PRX]`.
        base: The network that it is for.
        activation: Between its two projections.
        scaling: What it brings is multiplied by it.
        form: Of the weights' file.

    Raises:
        UnavailableError: If the folder can't be written, or torch is missing for its form.
        ValueError: If the weights hold no such adapter, or half of one.
    """
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
        "scaling": float(scaling),  # it takes whole numbers for a mistake
        "leave_out": [layer for layer in range(network.layers) if layer not in widths],
    }
    arrays = _renamed(weights, ADAPTERS[0], head, name, layers, base)
    _write_settings(folder / adapter_config.CONFIG, _settings(base, name, config))
    _write_weights(folder, {"safetensors": adapter_config.SAFETENSORS, "torch": adapter_config.TORCH}, form, arrays)


def write_fusion(
    folder: Path,
    weights: Weights,
    head: str,
    *,
    adapters: Sequence[str],
    base: ModelCard,
    form: FileForm = "safetensors",
) -> None:
    """Write one of a model's fusions; its adapters are written for themselves.

    Args:
        folder: Where to; made if it is not there.
        weights: Of the model, under the names of its architecture.
        head: Which of its fusions.
        adapters: What the library calls those that it fuses; SciRepEval has the fusion's own one first.
        base: The network that it is for.
        form: Of the weights' file.

    Raises:
        UnavailableError: If the folder can't be written, or torch is missing for its form.
        ValueError: If the weights hold no such fusion, or half of one.
    """
    name, width = ",".join(adapters), base.network.width
    layers = {
        layer: fusion_parts(width)
        for layer in range(base.network.layers)
        if f"{prefix_of(layer, FUSIONS[0], head)}query.weight" in weights
    }
    arrays = _renamed(weights, FUSIONS[0], head, name, layers, base)
    settings = _settings(base, name, _DYNAMIC) | {"adapter_names": list(adapters)}
    _write_settings(folder / adapter_fusion.CONFIG, settings)
    _write_weights(folder, {"safetensors": adapter_fusion.SAFETENSORS, "torch": adapter_fusion.TORCH}, form, arrays)


def _renamed(
    weights: Weights, kind: str, head: str, name: str, layers: Mapping[int, Mapping[str, Any]], base: ModelCard
) -> dict[str, np.ndarray]:
    """Return a module's weights as the library calls them in a model with heads, where it looks for fusions alone."""
    import numpy as np

    keys = {
        f"{prefix_of(layer, kind, head)}{part}": f"{_library_names(base)[0]}.{prefix_of(layer, kind, name)}{part}"
        for layer, parts in layers.items()
        for part in parts
    }
    if not keys or not keys.keys() <= weights.keys():
        raise ValueError(f"The weights hold no whole {head} of the kind {kind}.")
    return {renamed: np.ascontiguousarray(weights[key], dtype=np.float32) for key, renamed in keys.items()}


def _library_names(base: ModelCard) -> tuple[str, str]:
    """Return what the library calls a network's part below the heads, and the whole."""
    if base.family not in _LIBRARY_NAMES:
        raise InputError(
            f"AdapterHub's library has no adapters for {base.family} models; take one of {', '.join(_LIBRARY_NAMES)}."
        )
    return _LIBRARY_NAMES[base.family]


def _factor(width: int, narrow: int) -> float:
    """Return a reduction factor that the library rounds to the very width of a bottleneck."""
    import numpy as np

    exact = width / narrow
    if exact.is_integer():
        return int(exact)
    return exact if width // exact == narrow else float(np.nextafter(exact, 0))


def _settings(base: ModelCard, name: str, config: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "hidden_size": base.network.width,
        "model_type": base.family,
        "model_class": _library_names(base)[1],
        # Of a model on this machine only the folder's own name: the file may be published.
        "model_name": Path(base.name).name if Path(base.name).is_absolute() else base.name,
        "name": name,
        "config": dict(config),
        "version": _VERSION,
    }


def _write_settings(path: Path, settings: Mapping[str, Any]) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(settings, indent=2, sort_keys=True), encoding="utf-8")
    except OSError as error:
        raise _not_written(path.parent, error) from error


def _write_weights(
    folder: Path, files: Mapping[FileForm, str], form: FileForm, arrays: Mapping[str, np.ndarray]
) -> None:
    save = _save_torch if form == "torch" else _save_safetensors
    try:
        for name in files.values():
            (folder / name).unlink(missing_ok=True)  # else one of the other form might be read instead
        save(folder / files[form], arrays)
    except OSError as error:
        raise _not_written(folder, error) from error


def _not_written(folder: Path, error: OSError) -> UnavailableError:
    return UnavailableError(f"{folder} can't be written ({error}); name a folder that can be.")


def _save_safetensors(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    from safetensors.numpy import save

    path.write_bytes(save(dict(arrays), metadata={"format": "pt"}))


def _save_torch(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    try:
        import torch
    except ImportError:
        raise UnavailableError(
            "The torch form of adapters needs torch: run `pip install 'ses[train]'`, or write safetensors."
        ) from None
    torch.save({name: torch.from_numpy(array) for name, array in arrays.items()}, path)
