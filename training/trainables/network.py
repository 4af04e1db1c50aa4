"""The network itself: all of it, or its last layers. All formats share one vector."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from encoders.architectures.bert import layer_name
from encoders.models.folder import writing
from encoders.models.formats import Format
from encoders.models.weights import SAFETENSORS, write_safetensors
from training.trainables.base import Trainable, TrainableOptions, everything, last_layers

if TYPE_CHECKING:
    from encoders.models.card import ModelCard
    from encoders.models.model import Model, Weights


def _start(base: Model, formats: Sequence[Format], options: TrainableOptions, seed: int) -> dict[str, Any]:  # noqa: ARG001
    return {}


def write(base: Model, formats: Sequence[Format], weights: Weights, folder: Path) -> None:  # noqa: ARG001
    """Write the base's folder with other weights."""
    with writing(folder):
        for path in (*base.folder.glob("*.json"), *base.folder.glob("*.txt"), *base.folder.glob("*_Pooling/*.json")):
            copy = folder / path.relative_to(base.folder)
            copy.parent.mkdir(exist_ok=True)
            shutil.copyfile(path, copy)
        write_safetensors(folder / SAFETENSORS, weights)


def of_last_layers(card: ModelCard, options: TrainableOptions, weights: Weights) -> dict[str, int]:
    """Return the weights of the last layers."""
    prefixes = tuple(f"{layer_name(number)}." for number in last_layers(card, options["layers"]))
    return {name: 0 for name in weights if name.startswith(prefixes)}


ALL = Trainable({}, _start, write, everything)
LAST = Trainable({"layers": 2}, _start, write, of_last_layers)
