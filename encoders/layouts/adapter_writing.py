"""Adapters and fusions written in the form that AdapterHub's library loads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from corpora.errors import InputError, UnavailableError
from encoders.architectures.bert import layer_name
from encoders.layouts import adapter_files, adapterhub
from encoders.layouts.adapter_files import ADAPTERS, FUSIONS, Parts, adapter_parts, fusion_parts, prefix_of
from encoders.layouts.adapter_kinds import ATTENTION, ELSEWHERE
from encoders.models.card import ModelCard
from encoders.models.folder import write_json, writing
from encoders.models.model import Weights
from encoders.models.weights import write_safetensors
from encoders.ops.base import Activation
from encoders.ops.lora import lora_name

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


@dataclass(frozen=True, slots=True)
class _Names:
    """What the library calls the files of a folder: the configuration, and the weights in each form."""

    config: str
    weights: Mapping[FileForm, str]


_ADAPTER = _Names(adapter_files.CONFIG, {"safetensors": adapter_files.SAFETENSORS, "torch": adapter_files.TORCH})
_FUSION = _Names(
    adapterhub.FUSION_CONFIG, {"safetensors": adapterhub.FUSION_SAFETENSORS, "torch": adapterhub.FUSION_TORCH}
)


def as_library_names(weights: Weights, names: Mapping[str, str], base: ModelCard, what: str) -> dict[str, np.ndarray]:
    """Return weights as the library calls them in a model with heads, where it looks for fusions alone.

    Args:
        weights: Of the whole model.
        names: From those of the architecture to the library's, below the heads.
        base: The network that they are for.
        what: They are, for the message.

    Returns:
        The named ones, float32.

    Raises:
        InputError: If the library has no adapters for the network.
        ValueError: If some are missing, or none are named.
    """
    import numpy as np

    if not names or not names.keys() <= weights.keys():
        raise ValueError(f"The weights hold no complete {what}.")
    below, _ = _library_names(base)
    return {f"{below}.{new}": np.ascontiguousarray(weights[old], dtype=np.float32) for old, new in names.items()}


def write_hub_files(
    folder: Path,
    base: ModelCard,
    name: str,
    config: Mapping[str, Any],
    arrays: Mapping[str, np.ndarray],
    form: FileForm,
    *,
    fuses: tuple[str, ...] = (),
) -> None:
    """Write an adapter or a fusion as AdapterHub's library does.

    Args:
        folder: Where to; made if it is not there.
        base: The network that it is for.
        name: What the library shall call it.
        config: Of the library.
        arrays: Its weights under the library's names.
        form: Of the weights' file.
        fuses: Names of the adapters that it fuses, if it is a fusion.

    Raises:
        InputError: If the library has no adapters for the network.
        UnavailableError: If the folder can't be written, or torch is missing for its form.
    """
    settings = {
        "hidden_size": base.network.width,
        "model_type": base.family,
        "model_class": _library_names(base)[1],
        # Of a model on this machine only the folder's own name: the file may be published.
        "model_name": Path(base.name).name if Path(base.name).is_absolute() else base.name,
        "name": name,
        "config": dict(config),
        "version": _VERSION,
    }
    names = _FUSION if fuses else _ADAPTER
    with writing(folder):
        write_json(folder / names.config, settings | ({"adapter_names": list(fuses)} if fuses else {}))
        for file in names.weights.values():
            (folder / file).unlink(missing_ok=True)  # otherwise a file of the other form might be read instead
        (_save_torch if form == "torch" else write_safetensors)(folder / names.weights[form], arrays)


def _library_names(base: ModelCard) -> tuple[str, str]:
    """Return what the library calls a network's part below the heads, and the whole."""
    if base.family not in _LIBRARY_NAMES:
        raise InputError(
            f"AdapterHub's library has no adapters for {base.family} models; take one of {', '.join(_LIBRARY_NAMES)}."
        )
    return _LIBRARY_NAMES[base.family]


def _save_torch(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    try:
        import torch
    except ImportError:
        raise UnavailableError(
            "The torch form of adapters needs torch: run `pip install 'ses[train]'`, or write safetensors."
        ) from None
    torch.save({name: torch.from_numpy(array) for name, array in arrays.items()}, path)


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
        "scaling": float(scaling),  # the library rejects whole numbers
        "leave_out": [layer for layer in range(network.layers) if layer not in widths],
    }
    arrays = _library_weights(weights, ADAPTERS[0], head, name, layers, base)
    write_hub_files(folder, base, name, config, arrays, form)


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
    arrays = _library_weights(weights, FUSIONS[0], head, name, layers, base)
    write_hub_files(folder, base, name, _DYNAMIC, arrays, form, fuses=tuple(adapters))


def _library_weights(
    weights: Weights, kind: str, head: str, name: str, layers: Mapping[int, Parts], base: ModelCard
) -> dict[str, np.ndarray]:
    names = {
        f"{prefix_of(layer, kind, head)}{part}": f"{prefix_of(layer, kind, name)}{part}"
        for layer, parts in layers.items()
        for part in parts
    }
    return as_library_names(weights, names, base, f"{head} of the kind {kind}")


def _factor(width: int, narrow: int) -> float:
    """Return a reduction factor that the library rounds to the very width of a bottleneck."""
    import numpy as np

    exact = width / narrow
    if exact.is_integer():
        return int(exact)
    return exact if width // exact == narrow else float(np.nextafter(exact, 0))


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
