"""The network itself: all of it, or its last layers. All formats share one vector."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from encoders.architectures.bert import layer_name
from encoders.models.card import ModelCard
from encoders.models.folder import writing
from encoders.models.formats import Format
from encoders.models.model import Model, Weights
from encoders.models.weights import SAFETENSORS, write_safetensors
from training.trainables.base import Trainable, TrainableOptions, everything, last_layers


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


ALL = Trainable({}, write, everything)
LAST = Trainable({"layers": 2}, write, of_last_layers)
