"""Codes over a shared trunk: each format has its own row of the word table, which attends to the text (our method).

A row starts as that of [CLS], so training starts at the plain network's first-token vector. The network stays as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from encoders.architectures.bert import WORDS
from encoders.layouts.own_card import CARD_FILE
from encoders.layouts.shared_codes import CODES_FILE
from encoders.models.folder import write_json, writing
from encoders.models.formats import Format
from encoders.models.weights import write_safetensors
from encoders.tokens.tokenizer import load_tokenizer
from training.trainables.base import Trainable, TrainableOptions

if TYPE_CHECKING:
    from encoders.models.card import ModelCard
    from encoders.models.model import Model, Weights


def _start(base: Model, formats: Sequence[Format], options: TrainableOptions, seed: int) -> dict[str, Any]:  # noqa: ARG001
    import numpy as np

    words = base.read()[WORDS]
    first = load_tokenizer(base.folder, base.card).encode("").ids[0]
    return {WORDS: np.concatenate([words, np.repeat(words[first][None], len(formats), axis=0)])}


def _write(base: Model, formats: Sequence[Format], weights: Weights, folder: Path) -> None:
    rows = weights[WORDS][base.card.network.vocabulary :]
    codes = {f"codes.{task_format}": row for task_format, row in zip(formats, rows, strict=True)}
    with writing(folder):
        write_json(folder / CARD_FILE, {"architecture": "shared-codes", "base": base.card.name})
        write_safetensors(folder / CODES_FILE, codes)


def _trained(card: ModelCard, options: TrainableOptions, weights: Weights) -> dict[str, int]:  # noqa: ARG001
    return {WORDS: card.network.vocabulary - len(card.network.options["codes"])}


SHARED_CODES = Trainable({}, _start, _write, _trained)
