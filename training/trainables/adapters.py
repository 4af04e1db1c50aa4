"""A bottleneck adapter for each format, in every layer or in the last ones (SciRepEval section 4.3).

They start as SciRepEval's do, N(0, 0.02) with bias 0; with the option `identity`, the second projection starts at 0, so
that training starts exactly at the base's vectors.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from encoders.architectures.bert import layer_name
from encoders.formats import Format
from encoders.layouts.write_adapters import write_adapter
from training.trainables.base import Options, Trainable, last_layers, write_card

if TYPE_CHECKING:
    from encoders.card import ModelCard
    from encoders.model import Model, Weights

_DEVIATION = 0.02


def _start(base: Model, formats: Sequence[Format], options: Options, seed: int) -> dict[str, Any]:
    import numpy as np

    generator, width = np.random.default_rng(seed), base.card.network.width
    narrow = max(1, width // options["reduction"])
    weights: dict[str, Any] = {}
    for number in last_layers(base.card, options["layers"]):
        for task_format in formats:
            name = f"{layer_name(number)}.output.adapters.{task_format.value}"
            up = np.zeros((width, narrow)) if options["identity"] else generator.normal(0, _DEVIATION, (width, narrow))
            weights[f"{name}.adapter_down.0.weight"] = generator.normal(0, _DEVIATION, (narrow, width))
            weights[f"{name}.adapter_down.0.bias"] = np.zeros(narrow)
            weights[f"{name}.adapter_up.weight"] = up
            weights[f"{name}.adapter_up.bias"] = np.zeros(width)
    return {name: array.astype(np.float32) for name, array in weights.items()}


def _write(base: Model, formats: Sequence[Format], weights: Weights, folder: Path) -> None:
    for task_format in formats:
        write_adapter(folder / task_format.value, weights, task_format.value, name=task_format.code, base=base.card)
    folders = {task_format.value: task_format.value for task_format in formats}
    write_card(folder, {"architecture": "adapters", "base": base.card.name, "adapters": folders})


def _trained(card: ModelCard, options: Options, weights: Weights) -> dict[str, int]:  # noqa: ARG001
    return {name: 0 for name in weights if ".adapters." in name}


ADAPTERS = Trainable({"layers": 0, "reduction": 16, "identity": 0}, _start, _write, _trained)
