"""Codes over a shared trunk: each format's own row of the word table, which asks the text (ours).

A row starts as that of [CLS], so training starts at the plain network's first-token vector. The network stays as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corpora.errors import UnavailableError
from encoders.formats import Format
from encoders.layouts.shared_codes import CODES_FILE
from encoders.tokenizer import load_tokenizer
from training.trainables.base import Options, Trainable, write_card

if TYPE_CHECKING:
    from encoders.card import ModelCard
    from encoders.model import Model, Weights

_WORDS = "embeddings.word_embeddings.weight"


def _start(base: Model, formats: Sequence[Format], options: Options, seed: int) -> dict[str, Any]:  # noqa: ARG001
    import numpy as np

    words = base.read()[_WORDS]
    first = load_tokenizer(base.folder, base.card).encode("").ids[0]
    return {_WORDS: np.concatenate([words, np.repeat(words[first][None], len(formats), axis=0)])}


def _write(base: Model, formats: Sequence[Format], weights: Weights, folder: Path) -> None:
    import numpy as np
    from safetensors.numpy import save

    rows = weights[_WORDS][base.card.network.vocabulary :]
    codes = {f"codes.{task_format}": np.ascontiguousarray(row) for task_format, row in zip(formats, rows, strict=True)}
    write_card(folder, {"architecture": "shared-codes", "base": base.card.name})
    try:
        (folder / CODES_FILE).write_bytes(save(codes))
    except OSError as error:
        raise UnavailableError(f"{folder} can't be written ({error}); name a folder that can be.") from error


def _trained(card: ModelCard, options: Options, weights: Weights) -> dict[str, int]:  # noqa: ARG001
    return {_WORDS: card.network.vocabulary - len(card.network.options["codes"])}


SHARED_CODES = Trainable({}, _start, _write, _trained)
