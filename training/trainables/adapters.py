"""A bottleneck adapter for each format, in every layer or in the last ones (SciRepEval section 4.3).

They start as SciRepEval's do, N(0, 0.02) with bias 0; with the option `identity`, the second projection starts at 0, so
that training starts exactly at the base's vectors. The folder has the form of SciRepEval's training: an adapter is in
`adapters/[PRX]/`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from encoders.architectures.bert import layer_name
from encoders.layouts.adapter_writing import write_adapter
from encoders.models.formats import Format
from training.trainables.base import (
    Trainable,
    TrainableOptions,
    at_least_one,
    last_layers,
    new_linear,
    those_with,
    write_card,
)

if TYPE_CHECKING:
    from encoders.models.card import ModelCard
    from encoders.models.model import Model, Weights


def _start(base: Model, formats: Sequence[Format], options: TrainableOptions, seed: int) -> dict[str, Any]:
    import numpy as np

    draw, width = np.random.default_rng(seed), base.card.network.width
    weights: dict[str, Any] = {}
    narrow = max(1, width // at_least_one(options, "reduction"))
    for number in last_layers(base.card, options["layers"]):
        for task_format in formats:
            name = f"{layer_name(number)}.output.adapters.{task_format.value}"
            weights |= new_linear(draw, f"{name}.adapter_up", width, narrow, zero=bool(options["identity"]))
            weights |= new_linear(draw, f"{name}.adapter_down.0", narrow, width)
    return weights


def write_each(
    base: Model, formats: Sequence[Format], write: Callable[..., None], weights: Weights, folder: Path
) -> None:
    """Write a model folder with an adapter for each format, as `write` writes one."""
    places = {task_format.value: f"adapters/{task_format.code}" for task_format in formats}
    for task_format in formats:
        write(folder / places[task_format], weights, task_format.value, name=task_format.code, base=base.card)
    write_card(folder, {"architecture": "adapters", "base": base.card.name, "adapters": places})


def _write(base: Model, formats: Sequence[Format], weights: Weights, folder: Path) -> None:
    write_each(base, formats, write_adapter, weights, folder)


def _trained(card: ModelCard, options: TrainableOptions, weights: Weights) -> dict[str, int]:  # noqa: ARG001
    return those_with(".adapters.", weights)


ADAPTERS = Trainable({"layers": 0, "reduction": 16, "identity": 0}, _start, _write, _trained, plain=True)
