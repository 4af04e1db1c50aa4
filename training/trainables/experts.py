"""Experts: copies of the attention or the feed-forward network of some layers, one for each task (SciMult section 3.2).

Each starts as a copy of the layer, so training starts at the base's vectors. A format's expert learns from the tasks of
that format alone; all other weights learn from every task, or stay as they are with the option `shared = 0`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from corpora.errors import InputError
from encoders.layouts import experts
from encoders.layouts.encoder_params import special_layers
from encoders.models.card import ModelCard
from encoders.models.formats import Format
from encoders.models.model import Model, Weights
from training.trainables import network
from training.trainables.base import Trainable, TrainableOptions

_KINDS: dict[str, tuple[experts.ExpertKind, ...]] = {
    "attention": ("attention",),
    "feed-forward": ("feed-forward",),
    "both": ("attention", "feed-forward"),
}
_OF_LINKS, _OF_SEARCH, _OF_CLASSES = 1, 0, 2
"""As SciMult's checkpoints number them; links replace regression, which the paper did not train."""

_OPTIONS: TrainableOptions = {
    "kind": "attention",
    "layers": "mod2",
    "shared": 1,
    "clf": _OF_CLASSES,
    "rgn": _OF_LINKS,
    "prx": _OF_SEARCH,
    "qry": _OF_SEARCH,
}


def _start(base: Model, formats: Sequence[Format], options: TrainableOptions, seed: int) -> dict[str, Any]:  # noqa: ARG001
    weights = base.read()
    return {copy: weights[name].copy() for name, copy in _copied(base.card, formats, options, weights)}


def _write(base: Model, formats: Sequence[Format], weights: Weights, folder: Path) -> None:
    replaced = {experts.copied_from(name) for name in weights if experts.MARK in name}
    left = {name: array for name, array in weights.items() if name not in replaced}
    network.write(base, formats, left, folder)


def _described(formats: Sequence[Format], options: TrainableOptions) -> dict[str, Any]:
    numbers = {task_format.value: options[task_format.value] for task_format in formats}
    return {"architecture": "experts", "experts": numbers}


def _trained(card: ModelCard, options: TrainableOptions, weights: Weights) -> dict[str, int]:  # noqa: ARG001
    return {name: 0 for name in weights if options["shared"] or experts.MARK in name}


def _copied(
    base: ModelCard, formats: Sequence[Format], options: TrainableOptions, weights: Weights
) -> Iterator[tuple[str, str]]:
    """Yield the name of each weight that is copied, with its name in an expert; each expert in turn."""
    layers, kinds = special_layers("The recipe", options["layers"], base.network.layers), _KINDS.get(options["kind"])
    if kinds is None:
        raise InputError(f"The recipe asks for experts of the kind {options['kind']!r}; choose {', '.join(_KINDS)}.")
    if not layers:
        raise InputError(
            f"The recipe asks for experts in the layers {options['layers']}, and {base.name} has none of these among "
            f"its {base.network.layers}; choose mod2."
        )
    numbers = sorted({options[task_format.value] for task_format in formats})
    for layer, kind, expert in itertools.product(layers, kinds, numbers):
        yield from experts.copies(weights, layer, kind, expert).items()


EXPERTS = Trainable(_OPTIONS, _write, _trained, _start, described=_described)
