"""Tables for queries that ses ships (`encoders/tables/`): for an index of a model, the table that stands in for it.

Each is a folder of `encoders.layouts.static`, with a README that names the data and the licences.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from corpora.lazy import np
from encoders.layouts.huggingface import HEAD
from encoders.layouts.own_card import CARD_FILE
from encoders.layouts.static import stands_in_for
from encoders.models.card import ModelCard
from encoders.models.formats import Format
from encoders.models.model import Model
from encoders.text_encoder import EncodingProgress, TextEncoder, ignore

_SHIPPED = Path(__file__).with_name("tables")


def table_for(fingerprint: str, folder: Path = _SHIPPED) -> Model | None:
    """Return the table for queries that stands in for the model of a fingerprint; None if there is none.

    >>> table_for("0123456789abcdef") is None
    True
    """
    from encoders.layouts.registry import read_model

    for path in sorted(folder.glob(f"*/{CARD_FILE}")):
        if stands_in_for(path.parent)[1] == fingerprint:
            return read_model(path.parent, str(path.parent), _model)
    return None


def _model(name: str) -> Model:
    """Find the model whose tokenizer a table needs: one with a vocabulary of its own is read without known models."""
    from encoders.registry import find_model

    return find_model(name)


@dataclass(frozen=True, eq=False)
class QueriesByTable:
    """Encodes queries by a table, and papers by the model that it stands in for, which is loaded when it is needed.

    Attributes:
        card: The card of the whole.
        table: The table.
        load: Function that loads the model.
    """

    card: ModelCard
    table: TextEncoder
    load: Callable[[], TextEncoder]

    @cached_property
    def model(self) -> TextEncoder:
        """The model."""
        return self.load()

    def encode(self, texts: Sequence[str], task_format: Format = Format.PRX) -> np.ndarray:
        """Encode texts for one task format: float32 (texts, dimension), as `Encoder.encode`."""
        return self._of(task_format).encode(texts, task_format)

    def count_tokens(self, texts: Sequence[str], task_format: Format = Format.PRX) -> int:
        """Return how many tokens are read of texts in a task format."""
        return self._of(task_format).count_tokens(texts, task_format)

    def encode_formats(
        self, texts: Sequence[str], formats: Sequence[Format], done: EncodingProgress = ignore
    ) -> dict[Format, np.ndarray]:
        """Encode texts for several task formats: float32 (texts, dimension) by format, as `Encoder.encode_formats`."""
        own = [task_format for task_format in formats if task_format is not Format.QRY]
        made = self.model.encode_formats(texts, own, done) if own else {}
        return {one: made[one] if one in made else self.table.encode(texts, one) for one in formats}

    def _of(self, task_format: Format) -> TextEncoder:
        return self.table if task_format is Format.QRY else self.model


def queries_by_table(
    fingerprint: str, name: str, load_table: Callable[[Model], TextEncoder], load_model: Callable[[], TextEncoder]
) -> QueriesByTable | None:
    """Return the encoder of a model of which a table encodes the queries; None if ses ships no table for it.

    `name` is that by which the model is known. The model is loaded when anything but a query is encoded.
    """
    table = table_for(fingerprint)
    if table is None:
        return None
    card = replace(table.card, name=name, heads=dict.fromkeys(Format, HEAD))
    return QueriesByTable(card, load_table(table), load_model)
