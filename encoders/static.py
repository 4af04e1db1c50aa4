"""Encoders without a network: the vector of a text is the mean of a table's rows, one for each token, weighted.

The table is whole, or product-quantised (Jegou et al. 2011, "Product Quantization for Nearest Neighbor Search"): a row
is cut into parts, and each part is the nearest of 256 centroids, so that it takes one byte.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from corpora.errors import InputError, require
from corpora.lazy import np
from encoders.layouts.static import CENTROIDS, CODES, MAPPING, NO_UNKNOWN, ROWS, WEIGHTS
from encoders.models.card import ModelCard
from encoders.models.formats import Format
from encoders.models.model import Model
from encoders.text_encoder import EncodingProgress, ignore
from encoders.tokens.tokenizer import load_tokenizer, tokenized, well_formed

if TYPE_CHECKING:
    from tokenizers import Tokenizer


@dataclass(frozen=True, slots=True, eq=False)
class StaticTable:
    """The rows of a table, and the weight of each token.

    Attributes:
        weights: Weight of each token, float32 (tokens,); a token of weight 0 counts for nothing.
        rows: Whole rows, float (rows, dimension); None if they are quantised.
        codes: Number of the centroid of each part of each row, uint8 (rows, parts).
        centroids: Centroids of each part, float (parts, 256, dimension / parts).
        mapping: Row of each token, int (tokens,); None if each token has its own.

    Example:
        >>> import numpy as np
        >>> table = StaticTable(np.array([1.0, 2.0]), rows=np.eye(2, 3))
        >>> table.of(np.array([1, 0]))
        array([[0., 2., 0.],
               [1., 0., 0.]], dtype=float32)
    """

    weights: np.ndarray
    rows: np.ndarray | None = None
    codes: np.ndarray | None = None
    centroids: np.ndarray | None = None
    mapping: np.ndarray | None = None

    def of(self, tokens: np.ndarray) -> np.ndarray:
        """Return the rows of tokens, each times its weight, float32 (tokens, dimension)."""
        places = tokens if self.mapping is None else self.mapping[tokens]
        if self.rows is not None:
            rows = self.rows[places].astype(np.float32)
        else:
            assert self.codes is not None  # noqa: S101 - the check has seen one of the two
            assert self.centroids is not None  # noqa: S101
            parts = self.centroids[np.arange(self.codes.shape[1]), self.codes[places]]
            rows = parts.reshape(len(places), self.codes.shape[1] * self.centroids.shape[2]).astype(np.float32)
        weighted: np.ndarray = rows * self.weights[tokens, None].astype(np.float32)
        return weighted

    def mean(self) -> np.ndarray:
        """Return the mean of all rows times their weights, float32 (dimension,)."""
        return np.asarray(self.of(np.arange(len(self.weights))).mean(axis=0), np.float32)


@dataclass(frozen=True, slots=True)
class StaticEncoder:
    """A table ready to encode; made by `load_static`, safe to share between threads.

    Attributes:
        card: What the model declares.
        tokenizer: The tokenizer, which neither pads nor cuts.
        table: The rows.
        ignored: Tokens that count for nothing, and not in the length of a text either.
    """

    card: ModelCard
    tokenizer: Tokenizer
    table: StaticTable
    ignored: frozenset[int] = frozenset()

    def encode(self, texts: Sequence[str], task_format: Format = Format.PRX) -> np.ndarray:
        """Encode texts for one task format: float32 (texts, dimension), as `Encoder.encode`.

        A text without any token that counts gets the direction of the mean of all rows, because engines take no vector
        of zeros.
        """
        self.card.head(task_format)
        ids = self._ids(texts, task_format)
        vectors = self._sums(ids) / np.array([[max(1, len(own))] for own in ids], np.float32).reshape(-1, 1)
        empty = ~vectors.any(axis=1)
        if empty.any():
            vectors[empty] = self.table.mean()
        if self.card.network.normalize:
            vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
        return vectors

    def sums(self, texts: Sequence[str], task_format: Format = Format.QRY) -> np.ndarray:
        """Return the sums of the rows of texts, float32 (texts, dimension); zeros for a text without any token."""
        return self._sums(self._ids(texts, task_format))

    def count_tokens(self, texts: Sequence[str], task_format: Format = Format.PRX) -> int:
        """Return how many tokens the table is looked up for, in texts of a task format."""
        return sum(map(len, self._ids(texts, task_format)))

    def encode_formats(
        self, texts: Sequence[str], formats: Sequence[Format], done: EncodingProgress = ignore
    ) -> dict[Format, np.ndarray]:
        """Encode texts for several task formats: float32 (texts, dimension) by format, as `Encoder.encode_formats`."""
        made = {task_format: self.encode(texts, task_format) for task_format in formats}
        done(len(texts), block=len(texts))
        return made

    def _sums(self, ids: Sequence[np.ndarray]) -> np.ndarray:
        known, places = np.unique(np.concatenate([np.empty(0, np.int64), *ids]), return_inverse=True)
        rows, sums, start = self.table.of(known), np.empty((len(ids), self.card.dimension), np.float32), 0
        for number, own in enumerate(ids):
            sums[number] = rows[places[start : start + len(own)]].sum(axis=0)
            start += len(own)
        return sums

    def _ids(self, texts: Sequence[str], task_format: Format) -> list[np.ndarray]:
        """Return the tokens of each text that count, int64 (tokens,)."""
        prompts = [self.card.prompt(well_formed(text), task_format) for text in texts]
        found = tokenized(self.tokenizer, prompts, special=False)
        return [
            np.array([one for one in each.ids if one not in self.ignored][: self.card.max_tokens], np.int64)
            for each in found
        ]


def load_static(model: Model, cache_dir: Path) -> StaticEncoder:
    """Prepare a model of a table; `InputError` if its files are damaged."""
    tokenizer = load_tokenizer(model.folder, model.card, cache_dir)
    table = _table(model)
    tokens = tokenizer.get_vocab_size(with_added_tokens=True)
    require(
        tokens <= len(table.weights),
        f"The tokenizer of {model.card.name} has {tokens:,} tokens, and its table {len(table.weights):,} rows; fetch "
        "the model again.",
    )
    ignored = frozenset[int]()
    if model.card.network.options.get(NO_UNKNOWN):
        unknown = tokenizer.token_to_id(str(getattr(tokenizer.model, "unk_token", "") or ""))
        ignored = frozenset() if unknown is None else frozenset([unknown])
    return StaticEncoder(model.card, tokenizer, table, ignored)


def _table(model: Model) -> StaticTable:
    """Return the table of a model's weights; `InputError` if they don't fit each other."""
    arrays, dimension = model.read(), model.card.dimension
    rows, codes, centroids = (arrays.get(name) for name in (ROWS, CODES, CENTROIDS))
    mapping = arrays.get(MAPPING)
    count = len(rows) if rows is not None else len(codes) if codes is not None else 0
    tokens = count if mapping is None else len(mapping)
    weights = arrays.get(WEIGHTS, np.ones(tokens, np.float32))
    whole = rows is not None and rows.shape == (count, dimension)
    quantised = (
        codes is not None
        and centroids is not None
        and codes.ndim == 2
        and centroids.ndim == 3
        and len(centroids) == codes.shape[1]
        and len(centroids) * centroids.shape[2] == dimension
        and int(codes.max(initial=0)) < centroids.shape[1]
    )
    mapped = mapping is None or (mapping.ndim == 1 and bool(((mapping >= 0) & (mapping < count)).all()))
    numbers = [array for name, array in arrays.items() if name in (ROWS, CENTROIDS, WEIGHTS)]
    if not (whole or quantised) or not mapped or weights.shape != (tokens,):
        raise InputError(f"The arrays of the table {model.card.name} don't fit each other; fetch the model again.")
    if not all(np.isfinite(array).all() for array in numbers):
        raise InputError(f"The table {model.card.name} holds values that are not numbers; fetch the model again.")
    if rows is not None:
        return StaticTable(weights, rows=rows, mapping=mapping)
    return StaticTable(weights, codes=codes, centroids=centroids, mapping=mapping)
