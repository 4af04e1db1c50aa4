"""The interface of all encoders."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from corpora.lazy import np
from encoders.models.card import ModelCard
from encoders.models.formats import Format

Done = Callable[[float], None]
"""Receives how many more are done."""


class EncodingProgress(Protocol):
    """Receives the progress of an encoder."""

    def __call__(self, texts: float, /, *, block: float = 0.0) -> None:
        """Count texts, or fractions of them where a text takes several passes.

        Args:
            texts: At the beginning of a block, those that the cache holds. After a batch, its share of the block's
                tokens, times the texts that were missing: batches come longest first, and a long text takes longer.
            block: At the beginning of a block, how many texts it has; 0 after a batch.
        """


def ignore(texts: float, *, block: float = 0.0) -> None:
    """Ignore the progress."""


def scaled(done: EncodingProgress, share: float) -> EncodingProgress:
    """Return what receives the progress of a part of the work, in which a text counts as a share of one."""
    return lambda texts, *, block=0.0: done(texts * share, block=block * share)


def shared(done: EncodingProgress, passes: int) -> EncodingProgress:
    """Return what receives the progress of one of several passes over the same texts."""
    return lambda texts, *, block=0.0: done(texts / passes, block=block / passes)


class TextEncoder(Protocol):
    """Encodes texts: one model, or several composed.

    Example:
        >>> from pathlib import Path
        >>> from encoders.encoder import load_encoder
        >>> encoder: TextEncoder = load_encoder("all-MiniLM-L6-v2", cache_dir=Path("cache"))
        >>> list(encoder.encode_formats(["masks against a virus"], [Format.PRX, Format.QRY]))
        [<Format.PRX: 'prx'>, <Format.QRY: 'qry'>]
    """

    @property
    def card(self) -> ModelCard:
        """What it declares."""

    def encode(self, texts: Sequence[str], task_format: Format = Format.PRX) -> np.ndarray:
        """Encode texts for one task format: float32 (texts, dimension)."""

    def count_tokens(self, texts: Sequence[str], task_format: Format = Format.PRX) -> int:
        """Return how many tokens the model reads of texts in a task format, special ones included."""

    def encode_formats(
        self, texts: Sequence[str], formats: Sequence[Format], done: EncodingProgress = ignore
    ) -> dict[Format, np.ndarray]:
        """Encode texts for several task formats: float32 (texts, dimension) by format; `done` receives the progress."""
