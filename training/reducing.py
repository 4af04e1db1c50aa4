"""A model with shorter vectors: a linear layer after another one's, fitted on papers; then the length is 1 again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from corpora.errors import require
from encoders.architectures.bert import dense_name
from encoders.models.model import Model
from encoders.projection import rotation
from training.trainables.network import ALL

if TYPE_CHECKING:
    import numpy as np


def check_reducible(base: Model, dimension: int, folder: Path) -> None:
    """Raise `InputError` if a model can't have vectors of a length in a folder."""
    card, network = base.card, base.card.network
    plain = card.architecture in _PLAIN and network.pooling in ("cls", "mean") and "dense" not in network.options
    require(
        plain and not base.exported and not base.members,
        f"The vectors of {card.name} can't be made shorter: only those of one network without adapters, codes and "
        "linear layers can.",
    )
    require(
        card.similarity == "cosine",
        f"The vectors of {card.name} are compared by {card.similarity}, and only those of the cosine can be shorter.",
    )
    require(
        0 < dimension < card.dimension,
        f"Vectors of {card.dimension} numbers can't be cut to {dimension}",
        "choose a smaller <dimension>",
    )
    require(not folder.exists(), f"{folder} exists already; name another folder.")


_PLAIN = ("plain", "mpnet", "modernbert")


def reduce_model(base: Model, vectors: np.ndarray, dimension: int, folder: Path) -> None:
    """Write a model with shorter vectors: those of another one, turned and cut, with the length 1.

    Args:
        base: A model that `check_reducible` accepts.
        vectors: Its vectors of some papers, float32 (papers, numbers).
        dimension: Numbers of a shorter vector.
        folder: Folder of the model, which does not exist yet.

    Raises:
        InputError: If there are too few vectors.
        UnavailableError: If the folder can't be written.
    """
    layer = {f"{dense_name(0)}.weight": rotation(vectors, dimension)}
    ALL.write(base, base.card.formats, {**base.read(), **layer}, folder)
