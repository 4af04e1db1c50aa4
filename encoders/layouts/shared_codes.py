"""Shared-trunk codes: a network, and a row for each format's code under `codes.prx`, `codes.qry`, ...

The folder holds a `ses_card.json` with `{"architecture": "shared-codes"}` and the codes in `codes.safetensors`; the
network beside them, or in the model that its card names as `base`.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from corpora.checksums import sha256_of, sha256_of_text
from corpora.errors import InputError, require
from corpora.lazy import np
from encoders.layouts.huggingface import base_of
from encoders.models.formats import Format
from encoders.models.model import Find, Model, Weights
from encoders.models.weights import read_weights

CODES_FILE = "codes.safetensors"

_WORDS = "embeddings.word_embeddings.weight"


def read(folder: Path, name: str, find: Find) -> Model:
    """Read a folder with codes; `InputError` if they are missing, damaged, or of another width than the network."""
    base, path = base_of(folder, find), folder / CODES_FILE
    require(path.is_file(), f"{folder} lacks {CODES_FILE}, the rows of its control codes; fetch the model again.")
    codes = read_weights(path)
    known = {f"codes.{task_format}": task_format for task_format in Format}
    if not codes or set(codes) - set(known):
        raise InputError(f"{path} must hold some of {', '.join(known)}, and holds {', '.join(sorted(codes))}.")
    network = base.card.network
    for key, row in codes.items():
        if row.shape != (network.width,):
            raise InputError(
                f"{path} holds {key} of shape {row.shape}; the network {base.card.name} has {network.width}."
            )
    formats = [task_format for key, task_format in known.items() if key in codes]
    # The rows go below the word table, where no token of a text can name them.
    ids = {task_format.value: network.vocabulary + i for i, task_format in enumerate(formats)}
    digest = sha256_of_text(f"{base.card.weights_sha256} {sha256_of(path)}")
    card = replace(
        base.card,
        name=name,
        architecture="shared-codes",
        heads={task_format: task_format.value for task_format in formats},
        prompts={},
        network=replace(network, vocabulary=network.vocabulary + len(formats), pooling="code", options={"codes": ids}),
        weights_sha256=digest,
    )
    rows = {task_format: codes[f"codes.{task_format}"] for task_format in formats}
    return Model(card, base.folder, functools.partial(_read, base, rows))


def _read(base: Model, rows: Mapping[Format, np.ndarray]) -> Weights:
    weights = dict(base.read())
    if _WORDS in weights:
        weights[_WORDS] = np.concatenate([weights[_WORDS], np.stack(list(rows.values()))])
    return weights
