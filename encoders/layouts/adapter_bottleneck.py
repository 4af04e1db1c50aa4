"""Bottleneck adapters of AdapterHub's configuration `seq_bn`, once called `pfeiffer`."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from corpora.errors import InputError
from encoders.layouts.adapter_config import (
    SAFETENSORS,
    TORCH,
    Adapter,
    activation_of,
    cant_run,
    is_number,
    layers_of,
    number,
    weights_in,
)
from encoders.layouts.adapter_weights import ADAPTERS, Module, adapter_parts, read_module
from encoders.models.card import ModelCard
from encoders.models.model import Weights

_NEEDED = ("mh_adapter", "output_adapter", "original_ln_before", "reduction_factor", "non_linearity")
_SEQ_BN = {
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
"""Settings that change the formula, with the values of `seq_bn`."""

_KNOWN = "bottleneck adapters of the configuration seq_bn alone"
_INVERTIBLE = ("inv_adapter", "invertible_adapter")
_NARROWEST = 1e-6


def read(path: Path, content: Mapping[str, Any], base: ModelCard) -> Adapter:
    """Read what a configuration says of a bottleneck adapter; it must be `seq_bn`."""
    config = content["config"]
    if missing := [key for key in _NEEDED if key not in config]:
        raise InputError(f"{path} lacks {', '.join(missing)}; fetch the adapter again.")
    _check_network(path, content)
    facts = {"activation": activation_of(path, content), "scaling": float(number(path, config, "scaling", 1.0))}
    widths = {
        layer: bottleneck_width(path, config["reduction_factor"], layer, base)
        for layer in layers_of(path, config, base)
    }
    file, name = weights_in(path.parent, SAFETENSORS, TORCH), content["name"]
    return Adapter(file, name, facts, widths, functools.partial(_read, file, name, widths, base), fusible=True)


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
    if not is_number(factor, above=_NARROWEST):
        raise InputError(f"{path} gives no reduction_factor for layer {layer}; fetch the adapter again.")
    return max(int(base.network.width // factor), 1)


def _read(file: Path, name: str, widths: Mapping[int, int], base: ModelCard, _: Weights, head: str) -> Weights:
    layers = {layer: adapter_parts(base.network.width, narrow) for layer, narrow in widths.items()}
    return read_module(Module(file, ADAPTERS, name, layers, layers), head, base.name)


def _check_network(path: Path, content: Mapping[str, Any]) -> None:
    config = content["config"]
    for key, expected in _SEQ_BN.items():
        if config.get(key, expected) != expected:
            raise cant_run(path, key, config[key], _KNOWN)
    # The first releases wrote it into every adapter, and used it in those of languages alone.
    unused = "version" not in content and content.get("type") == "text_task"
    if wanted := [key for key in _INVERTIBLE if config.get(key) and not unused]:
        raise cant_run(path, wanted[0], config[wanted[0]], _KNOWN)
