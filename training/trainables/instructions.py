"""Instructions: each format's texts are read under a sentence of its own (SciMult section 3.3, UniPR section 3.2.1).

`instructions` trains one network that reads texts and instructions (SciMult-Instruction, UniPR). `prefix` has a network
of its own for the instructions, which is trained while the network of the texts stays as it is (SciMult-Prefix); the
option `texts = 1` trains the network of the texts instead (`fix_instruct_encoder` of UniPR's code).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from corpora.lazy import np
from encoders.architectures.instructions import INSTRUCTOR
from encoders.layouts.unipr import SEMANTIC
from encoders.models.card import ModelCard
from encoders.models.formats import Format
from encoders.models.model import Model, Weights
from training.trainables import network
from training.trainables.base import Trainable, TrainableOptions, everything, write_card

_WORDS: TrainableOptions = {
    "clf": "Tag a scientific paper with relevant scientific topic classes.",
    "rgn": "Estimate a number that describes a scientific paper.",
    "prx": SEMANTIC,
    "qry": SEMANTIC,
}
"""SciMult table 1. Both sides of a search have the same instruction. The one for regression is ours."""


def _write_two(base: Model, formats: Sequence[Format], weights: Weights, folder: Path) -> None:
    """Write a card that names the two networks; a network that differs from the base is stored beside it."""
    read = {name.removeprefix(INSTRUCTOR): array for name, array in weights.items() if name.startswith(INSTRUCTOR)}
    texts = {name: array for name, array in weights.items() if not name.startswith(INSTRUCTOR)}
    card, given = {"architecture": "instruction-encoder"}, base.read()
    for part, arrays in (("base", texts), ("instructor", read)):
        changed = any(not np.array_equal(array, given[name]) for name, array in arrays.items())
        if changed:
            # States above the last layer that reads them are not used, so the instructor keeps the base's weights
            # there.
            network.write(base, formats, {**given, **arrays}, folder / part)
        card[part] = part if changed else base.card.name
    write_card(folder, card)


def _instructions(formats: Sequence[Format], options: TrainableOptions) -> dict[str, Any]:
    return {"instructions": {task_format.value: options[task_format.value] for task_format in formats}}


def _described(formats: Sequence[Format], options: TrainableOptions) -> dict[str, Any]:
    return {"architecture": "instructions", **_instructions(formats, options)}


def _one_of_two(card: ModelCard, options: TrainableOptions, weights: Weights) -> dict[str, int]:  # noqa: ARG001
    return {name: 0 for name in weights if name.startswith(INSTRUCTOR) != bool(options["texts"])}


INSTRUCTIONS = Trainable(_WORDS, network.write, everything, described=_described)
PREFIX = Trainable({"texts": 0, **_WORDS}, _write_two, _one_of_two, described=_instructions)
