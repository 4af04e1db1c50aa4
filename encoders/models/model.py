"""A model found on disk, and the check of its weights."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from corpora.errors import InputError, short_list
from corpora.installed import deferred
from corpora.lazy import np
from encoders.architectures.registry import ARCHITECTURES
from encoders.models.card import ModelCard
from encoders.models.formats import Precision

if TYPE_CHECKING:
    from encoders.ops.names import NamesOps

Weights = Mapping[str, "np.ndarray"]

_OF_TASK_HEADS = (
    *("pooler.", "cls.", "classifier.", "lm_head.", "dropout.", "embeddings.position_ids"),
    *("head.", "decoder."),  # ModernBERT's
)
"""Weights in checkpoints that no vector depends on."""


@dataclass(frozen=True, slots=True)
class Exported:
    """What an exported model has in place of weights.

    Attributes:
        runtime: The name of its runtime.
        precision: The precision of its graphs.
        graphs: Folders that the runtime loads, by the heads of each.
        texts: Texts for checking a machine.
        vectors: Their vectors on the machine that exported it, by head.
    """

    runtime: str
    precision: Precision
    graphs: Mapping[tuple[str, ...], Path]
    texts: Sequence[str]
    vectors: Mapping[str, Sequence[Sequence[float]]]


@dataclass(frozen=True, slots=True)
class Model:
    """A model and its card.

    Attributes:
        card: Its card.
        folder: Folder with its tokenizer.
        read: Reads its weights, float32, under the names its architecture uses.
        members: Models it is composed of, if it has no weights of its own: by format, or `0`, `1`, ... in an ensemble.
        exported: Its graphs, if it is an export and has no weights.
        base: The plain network that its adapters are on, if it has adapters.
        query_weights: Reads the weights of the tokens of queries, float32 (vocabulary,), for a sparse model whose
            queries need no network.

    Example:
        >>> from encoders.registry import find_model
        >>> find_model("all-MiniLM-L6-v2").read()["embeddings.word_embeddings.weight"].shape
        (30522, 384)
    """

    card: ModelCard
    folder: Path
    read: Callable[[], Weights]
    members: Mapping[str, Model] = field(default_factory=dict)
    exported: Exported | None = None
    base: Model | None = None
    query_weights: Callable[[], np.ndarray] | None = None


Find = Callable[[str], Model]
"""Finds a model by name, for models composed of others."""


def as_base(model: Model) -> Model:
    """Return the plain network of a folder that holds its adapters too, for the folder's name is that of both.

    Any other model is returned as it is.
    """
    return model.base if model.base and model.base.card.name == model.card.name else model


def read_checked(model: Model, heads: Sequence[str]) -> Weights:
    """Return the weights that heads use, float32; `InputError` if some are missing, unknown, misshapen or NaN."""
    weights, card = model.read(), model.card
    every, wanted = (_noted(card, weights, some) for some in (tuple(dict.fromkeys(card.heads.values())), heads))
    missing = sorted(set(every.used) - set(weights))
    surplus = sorted(name for name in set(weights) - set(every.used) if not is_of_task_head(name))
    if missing or surplus:
        faults = [f"lack {short_list(missing)}"] if missing else []
        if surplus:
            faults.append(f"hold {short_list(surplus)}, which the architecture {card.architecture} does not have")
        raise InputError(f"The weights of {card.name} don't fit its config.json: they {' and '.join(faults)}.")
    for name, rows in every.tables.items():
        if weights[name].shape != (rows, card.network.width):
            raise InputError(
                f"The weights of {card.name} don't fit its config.json: {name} has the shape {weights[name].shape}, "
                f"and the config.json says {(rows, card.network.width)}; fetch the model again."
            )
    used = {name: array for name, array in weights.items() if name in wanted.used}
    broken = [name for name, array in used.items() if not np.isfinite(array).all()]
    if broken:
        raise InputError(
            f"The weights of {card.name} are damaged: {short_list(broken)} hold values that are not numbers; "
            "fetch the model again."
        )
    return used


def _noted(card: ModelCard, present: Collection[str], heads: Sequence[str]) -> NamesOps:
    ops: NamesOps = deferred("encoders.ops.names", "NamesOps")(present)
    ARCHITECTURES[card.architecture](ops, card.network, None, None, heads)
    return ops


def is_of_task_head(name: str) -> bool:
    """Return whether a weight is one that checkpoints hold beside the encoder, and no vector depends on."""
    return name.startswith(_OF_TASK_HEADS)
