"""What every choice of trained weights offers."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corpora.errors import InputError, UnavailableError
from encoders.formats import Format
from encoders.layouts.own_card import CARD_FILE

if TYPE_CHECKING:
    from encoders.card import ModelCard
    from encoders.model import Model, Weights

Options = Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Trainable:
    """A choice of trained weights.

    Training starts by writing the model folder of the untrained start and reading it back, and ends by writing the same
    folder with the trained weights: what is trained is what is read and run.

    Attributes:
        options: Its options with their defaults.
        start: From base, formats, options and a seed to the weights that are new; none where nothing is added.
        write: Writes a model folder from base, formats and the weights of the whole model.
        trained: From card, options and weights to the names of the trained ones, with the first trained row of each.
    """

    options: Options
    start: Callable[[Model, Sequence[Format], Options, int], dict[str, Any]]
    write: Callable[[Model, Sequence[Format], Weights, Path], None]
    trained: Callable[[ModelCard, Options, Weights], dict[str, int]]


def last_layers(card: ModelCard, asked: int) -> range:
    """Return the last layers; all of them for 0; `InputError` if there are not as many."""
    layers = card.network.layers
    if not 0 <= asked <= layers:
        raise InputError(
            f"The recipe asks for {asked} layers, and {card.name} has {layers}; choose 0 (all) to {layers}."
        )
    return range(layers - asked if asked else 0, layers)


def write_card(folder: Path, content: Mapping[str, Any]) -> None:
    """Write a model folder's own card."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / CARD_FILE).write_text(json.dumps(content, indent=2, sort_keys=True), encoding="utf-8")
    except OSError as error:
        raise UnavailableError(f"{folder} can't be written ({error}); name a folder that can be.") from error
