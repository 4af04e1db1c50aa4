"""Writes adapters and fusions in the form that AdapterHub's library loads.

It reads safetensors where it is asked to (`load_adapter(folder, use_safetensors=True)`); SciRepEval's code and older
releases only read the torch form.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from encoders.layouts.adapter_weights import ADAPTERS, FUSIONS, Parts, adapter_parts, fusion_parts, prefix_of
from encoders.layouts.write_files import FileForm, as_library_names, write_hub_files
from encoders.models.card import ModelCard
from encoders.models.model import Weights
from encoders.ops.base import Activation

if TYPE_CHECKING:
    import numpy as np

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
