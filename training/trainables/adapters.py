"""An adapter for each format, in every layer or in the last ones: a bottleneck or LoRA.

Bottlenecks (SciRepEval section 4.3) start as SciRepEval's do, N(0, 0.02) with bias 0; with the option `identity`, the
second projection starts at 0, so that training starts exactly at the base's vectors.

LoRA changes queries and values (Hu et al. 2021). B starts at 0, so training starts exactly at the base's vectors. The
update is not scaled: section 4.1 sets alpha to the first r and does not tune it, as it acts like the learning rate.

The folder has the form of SciRepEval's training: an adapter is in `adapters/[PRX]/`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from corpora.lazy import np
from encoders.architectures.adapters import lora_name
from encoders.architectures.bert import layer_name
from encoders.layouts.adapter_kinds import ATTENTION
from encoders.layouts.adapter_writing import write_adapter, write_lora
from encoders.models.formats import Format
from encoders.models.model import Model, Weights
from training.trainables.base import (
    Trainable,
    TrainableOptions,
    at_least_one,
    last_layers,
    named,
    new_linear,
    write_card,
)

_ADAPTED = (ATTENTION["q"], ATTENTION["v"])
"""LoRA: section 4.2 adapts these in most of its experiments, and AdapterHub's library by default."""


def _start(base: Model, formats: Sequence[Format], options: TrainableOptions, seed: int) -> dict[str, Any]:
    draw, width = np.random.default_rng(seed), base.card.network.width
    weights: dict[str, Any] = {}
    narrow = max(1, width // at_least_one(options, "reduction"))
    for number in last_layers(base.card, options["layers"]):
        for task_format in formats:
            name = f"{layer_name(number)}.output.adapters.{task_format.value}"
            weights |= new_linear(draw, f"{name}.adapter_up", width, narrow, zero=bool(options["identity"]))
            weights |= new_linear(draw, f"{name}.adapter_down.0", narrow, width)
    return weights


def _write(write: Callable[..., None], base: Model, formats: Sequence[Format], weights: Weights, folder: Path) -> None:
    """Write a model folder with an adapter for each format, as `write` writes one."""
    places = {task_format.value: f"adapters/{task_format.code}" for task_format in formats}
    for task_format in formats:
        write(folder / places[task_format], weights, task_format.value, name=task_format.code, base=base.card)
    write_card(folder, {"architecture": "adapters", "base": base.card.name, "adapters": places})


def _start_lora(base: Model, formats: Sequence[Format], options: TrainableOptions, seed: int) -> dict[str, Any]:
    draw, width, rank = np.random.default_rng(seed), base.card.network.width, at_least_one(options, "rank")
    weights: dict[str, Any] = {}
    limit = 1 / math.sqrt(width)  # the authors' code draws A by Kaiming's uniform rule with a slope of the root of 5
    for number in last_layers(base.card, options["layers"]):
        for linear in _ADAPTED:
            for task_format in formats:
                name = lora_name(f"{layer_name(number)}.{linear}", task_format.value)
                weights[f"{name}.lora_A.weight"] = draw.uniform(-limit, limit, (rank, width)).astype(np.float32)
                weights[f"{name}.lora_B.weight"] = np.zeros((width, rank), np.float32)
    return weights


ADAPTERS = Trainable(
    {"layers": 0, "reduction": 16, "identity": 0},
    partial(_write, write_adapter),
    named(".adapters."),
    _start,
    plain=True,
)
LORA = Trainable({"layers": 0, "rank": 8}, partial(_write, write_lora), named(".loras."), _start_lora, plain=True)
