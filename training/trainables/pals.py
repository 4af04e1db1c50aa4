"""Projected attention layers for each format, beside every layer (SciRepEval section 4.3; Stickland and Murray 2019).

They start as SciRepEval's code starts them, N(0, 0.02) with bias 0; with the option `identity`, their output starts at
0, so that training starts exactly at the base's vectors. All weights are trained, as in the paper; with the option
`frozen`, the projected attention layers alone. With `low_rank`, they are the variant without attention.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from corpora.errors import InputError
from corpora.lazy import np
from encoders.architectures.bert import attention_names, layer_name
from encoders.architectures.pals import ATTENTION_HEADS
from encoders.layouts.network_writing import write_pals
from encoders.layouts.pals import EPSILON
from encoders.models.card import ModelCard
from encoders.models.formats import Format
from encoders.models.model import Model, Weights
from training.trainables.base import Trainable, TrainableOptions, everything, named, new_linear

_PALS, _LOW_RANK, _OF = 204, 100, 768
"""SciRepEval's widths of the two variants, and of the hidden states that they project."""


def _start(base: Model, formats: Sequence[Format], options: TrainableOptions, seed: int) -> dict[str, Any]:
    draw, network = np.random.default_rng(seed), base.card.network
    if base.card.family != "bert" or network.epsilon != EPSILON:
        raise InputError(f"PALs need a BERT with layer_norm_eps {EPSILON}, and {base.card.name} is none.")
    small, low_rank = _width(network.width, options), bool(options["low_rank"])
    weights: dict[str, Any] = {}

    def projections() -> dict[str, Any]:
        down = new_linear(draw, "aug_dense", small, network.width)
        return down | new_linear(draw, "aug_dense2", network.width, small, zero=bool(options["identity"]))

    for task in range(len(formats)):
        shared = projections()
        for number in range(network.layers):
            name = f"{layer_name(number)}.multi_layers.{task}"
            own = projections() if low_rank else shared
            weights |= {f"{name}.{part}": array for part, array in own.items()}
            for attention in () if low_rank else attention_names(f"{name}.attn"):
                weights |= new_linear(draw, attention, small, small)
    return weights


def _width(width: int, options: TrainableOptions) -> int:
    """Return the width of the projection: as asked, or in proportion to the paper's."""
    papers, step = (_LOW_RANK, 1) if options["low_rank"] else (_PALS, ATTENTION_HEADS)
    chosen = options["width"] or step * max(1, round(width * papers / _OF / step))
    if chosen % step or chosen < 1:
        raise InputError(f"The recipe sets the option width to {chosen}; choose a multiple of {step}, or 0.")
    return chosen


def _write(base: Model, formats: Sequence[Format], weights: Weights, folder: Path) -> None:
    write_pals(folder, base, weights, sorted(formats))


def _trained(card: ModelCard, options: TrainableOptions, weights: Weights) -> dict[str, int]:
    return (named(".multi_layers.") if options["frozen"] else everything)(card, options, weights)


PALS = Trainable({"width": 0, "low_rank": 0, "identity": 0, "frozen": 0}, _write, _trained, _start)
