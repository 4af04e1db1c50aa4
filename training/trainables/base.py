"""What every choice of trained weights offers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from corpora.errors import InputError
from corpora.lazy import np
from encoders.layouts.own_card import CARD_FILE
from encoders.models.card import ModelCard
from encoders.models.folder import write_json, writing
from encoders.models.formats import Format
from encoders.models.model import Model, Weights

TrainableOptions = Mapping[str, Any]
"""Options by name: whole numbers or words. An option in a recipe must have the type of its default."""

DEVIATION = 0.02
"""Standard deviation of new weights, as in BERT and in the papers' code."""


@dataclass(frozen=True, slots=True)
class Trainable:
    """A choice of trained weights.

    Training starts by writing the model folder of the untrained start and reading it back, and ends by writing the same
    folder with the trained weights: what is trained is what is read and run.

    Attributes:
        options: Its options with their defaults.
        write: Writes a model folder from base, formats and the weights of the whole model.
        trained: Names the trained weights by card, options and weights, with the first trained row of each.
        start: Makes the new weights from base, formats, options and a seed; by default, nothing is added.
        bases: Architectures that it can start from.
        plain: Whether a format may keep the base's own vectors.
        pairs: Whether the model scores pairs of texts, and gives no vectors.
        described: Makes further entries of the folder's own card, beside those of `write`, from formats and options.
    """

    options: TrainableOptions
    write: Callable[[Model, Sequence[Format], Weights, Path], None]
    trained: Callable[[ModelCard, TrainableOptions, Weights], dict[str, int]]
    start: Callable[[Model, Sequence[Format], TrainableOptions, int], dict[str, Any]] = lambda *_: {}
    bases: tuple[str, ...] = ("plain",)
    plain: bool = False
    pairs: bool = False
    described: Callable[[Sequence[Format], TrainableOptions], dict[str, Any]] = lambda _, __: {}


def last_layers(card: ModelCard, count: int) -> range:
    """Return the last layers; all of them for 0; `InputError` if there are not as many."""
    layers = card.network.layers
    if not 0 <= count <= layers:
        raise InputError(
            f"The recipe asks for {count} layers, and {card.name} has {layers}; choose 0 (all) to {layers}."
        )
    return range(layers - count if count else 0, layers)


def at_least_one(options: TrainableOptions, key: str) -> int:
    """Return an option that must be 1 or more; `InputError` if it is not."""
    value: int = options[key]
    if value < 1:
        raise InputError(f"The recipe sets the option {key} to {value}; choose 1 or more.")
    return value


def new_linear(
    draw: np.random.Generator, name: str, outputs: int, inputs: int, *, zero: bool = False
) -> dict[str, Any]:
    """Return a new linear layer: N(0, 0.02) or zeros, with bias 0."""
    weight = np.zeros((outputs, inputs)) if zero else draw.normal(0, DEVIATION, (outputs, inputs))
    return {f"{name}.weight": weight.astype(np.float32), f"{name}.bias": np.zeros(outputs, np.float32)}


def everything(card: ModelCard, options: TrainableOptions, weights: Weights) -> dict[str, int]:  # noqa: ARG001
    """Return all weights with all rows."""
    return dict.fromkeys(weights, 0)


def named(part: str) -> Callable[[ModelCard, TrainableOptions, Weights], dict[str, int]]:
    """Return a function that returns the weights whose names contain a string, with all rows."""
    return lambda card, options, weights: {name: 0 for name in weights if part in name}  # noqa: ARG005


def write_card(folder: Path, content: Mapping[str, Any]) -> None:
    """Write a model folder's own card."""
    with writing(folder):
        write_json(folder / CARD_FILE, content)
