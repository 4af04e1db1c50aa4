"""LoRA for each format, of the queries and values of every layer or of the last ones (Hu et al. 2021).

B starts at 0, so training starts exactly at the base's vectors. The update is not scaled: section 4.1 sets alpha to the
first r and does not tune it, as it acts like the learning rate.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from encoders.architectures.adapters import lora_name
from encoders.architectures.bert import layer_name
from encoders.layouts.adapter_kinds import ATTENTION
from encoders.layouts.adapter_writing import write_lora
from encoders.models.formats import Format
from training.trainables.adapters import write_each
from training.trainables.base import Trainable, TrainableOptions, at_least_one, last_layers, those_with

if TYPE_CHECKING:
    from encoders.models.card import ModelCard
    from encoders.models.model import Model, Weights

_ADAPTED = (ATTENTION["q"], ATTENTION["v"])
"""Section 4.2 adapts these in most of its experiments, and AdapterHub's library by default."""


def _start(base: Model, formats: Sequence[Format], options: TrainableOptions, seed: int) -> dict[str, Any]:
    import numpy as np

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


def _write(base: Model, formats: Sequence[Format], weights: Weights, folder: Path) -> None:
    write_each(base, formats, write_lora, weights, folder)


def _trained(card: ModelCard, options: TrainableOptions, weights: Weights) -> dict[str, int]:  # noqa: ARG001
    return those_with(".loras.", weights)


LORA = Trainable({"layers": 0, "rank": 8}, _start, _write, _trained, plain=True)
