"""The network itself: all of it, or its last layers. All formats share one vector.

With the option `dimension`, a new linear layer after pooling makes vectors of that length, so that a student can have
vectors of a teacher's length (LEAF, arXiv:2509.12539, section 3).
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from corpora.errors import InputError
from corpora.lazy import np
from encoders.architectures.bert import layer_name
from encoders.architectures.network import dense_name
from encoders.layouts.sentence_modules import write_modules
from encoders.models.card import ModelCard
from encoders.models.folder import writing
from encoders.models.formats import Format
from encoders.models.model import Model, Weights
from encoders.models.weights import SAFETENSORS, write_safetensors
from training.trainables.base import Trainable, TrainableOptions, everything, last_layers, new_linear

_DENSE = dense_name(0).removesuffix("0")


def start(base: Model, formats: Sequence[Format], options: TrainableOptions, seed: int) -> dict[str, Any]:  # noqa: ARG001
    """Make the linear layer, if one is asked for; `InputError` if the base can't have one."""
    network, dimension = base.card.network, options["dimension"]
    if not dimension:
        return {}
    if dimension < 0 or network.pooling == "code" or "dense" in network.options:
        if "dense" in network.options:
            why = "it has one"
        elif dimension > 0:
            why = "its vector is a code's"
        else:
            why = "choose 0 or more"
        name = base.card.name
        raise InputError(
            f"The recipe asks for a linear layer of dimension {dimension} on {name}, and can't have it: {why}."
        )
    return new_linear(np.random.default_rng(seed), dense_name(0), dimension, network.width)


def write(base: Model, formats: Sequence[Format], weights: Weights, folder: Path) -> None:  # noqa: ARG001
    """Write the base's folder with other weights, and with a linear layer if there is one among them."""
    with writing(folder):
        for path in (*base.folder.glob("*.json"), *base.folder.glob("*.txt"), *base.folder.glob("*_Pooling/*.json")):
            copy = folder / path.relative_to(base.folder)
            copy.parent.mkdir(exist_ok=True)
            shutil.copyfile(path, copy)
        inner = {name: array for name, array in weights.items() if not name.startswith(_DENSE)}
        write_safetensors(folder / SAFETENSORS, inner)
        if len(inner) < len(weights):
            write_modules(folder, _with_layer(base.card), weights)


def _with_layer(card: ModelCard) -> ModelCard:
    """Return a card with a linear layer, as it is or a new one, whose vectors are compared by their directions."""
    if "dense" in card.network.options:
        return card
    return replace(card, network=replace(card.network, normalize=True, options={**card.network.options, "dense": [""]}))


def of_last_layers(card: ModelCard, options: TrainableOptions, weights: Weights) -> dict[str, int]:
    """Return the weights of the last layers, and of a linear layer after them."""
    prefixes = tuple(f"{layer_name(number)}." for number in last_layers(card, options["layers"]))
    return {name: 0 for name in weights if name.startswith((*prefixes, _DENSE))}


ALL = Trainable({"dimension": 0}, write, everything, start)
LAST = Trainable({"layers": 2, "dimension": 0}, write, of_last_layers, start)
