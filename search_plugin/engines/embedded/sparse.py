"""Search by sparse vectors: an inverted index of the first rows, and the entries of later rows one by one.

The inverted index is a derived folder. For each token it has the rows whose vector holds it, and their weights, in
three mapped files. Both ways give the exact dot product. Weights have 9 significant bits, so that without their sign
they fit into 16 bits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from corpora.lazy import np
from search_plugin.contract.schema import SparseField
from search_plugin.engines.embedded.derived import Derived, deriving, newest
from search_plugin.engines.embedded.errors import reads_stored
from search_plugin.engines.embedded.files import mapped

_STARTS, _ROWS, _WEIGHTS = "starts", "rows", "weights"
_SHIFT = 15
"""Bits of a float32 fraction that weights do not use."""

UNINDEXED = 2_000
"""Maximum rows after those that the inverted index covers; a search reads the entries of these."""

_GROWTH = 10
_AT_ONCE = 4 << 20
"""Entries of the inverted index that are in memory at once, unless a token has more: about 100 MB."""

_BLOCK = 4_096
"""Rows whose entries are in memory at once."""


@dataclass(frozen=True, slots=True)
class TokenPostings:
    """The inverted index of the first rows, of which it covers `covered`.

    Attributes:
        covered: The number of rows.
        starts: Where each token's part begins, int64 (vocabulary + 1,).
        rows: The rows of each token, int32 (entries,).
        weights: Their weights, uint16 (entries,): the bits of float32 from sign to fraction, without the last 15.
    """

    covered: int
    starts: np.ndarray
    rows: np.ndarray
    weights: np.ndarray

    def products(self, query: np.ndarray, count: int) -> np.ndarray:
        """Return the dot products of a query, float32 (entries, 2), with the first rows, float64 (count,)."""
        scores, tokens = np.zeros(count, np.float64), query[:, 0].astype(np.int64)
        begins, ends = self.starts[tokens], self.starts[tokens + 1]
        # As many tokens at once as fit into the memory, since each sum goes over all rows.
        full = np.cumsum(ends - begins) // _AT_ONCE
        for group in np.split(np.arange(len(tokens)), np.flatnonzero(np.diff(full)) + 1):
            parts = [slice(begins[one], ends[one]) for one in group]
            rows = np.concatenate([np.empty(0, np.int32), *(self.rows[part] for part in parts)])
            held = np.concatenate([np.empty(0, np.uint16), *(self.weights[part] for part in parts)])
            weights_asked = np.repeat(query[group, 1].astype(np.float64), (ends - begins)[group])
            scores += np.bincount(rows, unpacked(held) * weights_asked, count)
        return scores


@dataclass(frozen=True, slots=True)
class Entries:
    """The entries of sparse vectors, one row's after another.

    Attributes:
        rows: The rows, int64 (rows,).
        counts: The number of entries of each.
        entries: Their tokens and weights, float32 (all entries, 2).
    """

    rows: np.ndarray
    counts: np.ndarray
    entries: np.ndarray


ReadEntries = Callable[[int, int], Entries]
"""Reads the entries of the current rows between two numbers."""


def packed(weights: np.ndarray) -> np.ndarray:
    """Return weights, float32 of 9 significant bits, in 16 bits each."""
    bits: np.ndarray = np.ascontiguousarray(weights, np.float32).view(np.uint32) >> _SHIFT
    return bits.astype(np.uint16)


def unpacked(packed_weights: np.ndarray) -> np.ndarray:
    """Return what `packed` was given, float32."""
    return (packed_weights.astype(np.uint32) << _SHIFT).view(np.float32)


def scored(
    query: np.ndarray, count: int, dimension: int, read: ReadEntries, postings: TokenPostings | None
) -> np.ndarray:
    """Return the dot product of a query, float32 (entries, 2), and each current row, float64 (count,)."""
    covered = postings.covered if postings else 0
    scores = postings.products(query, count) if postings else np.zeros(count, np.float64)
    weights = np.zeros(dimension, np.float64)
    weights[query[:, 0].astype(np.int64)] = query[:, 1]
    for part in _parts(covered, count):
        held = read(part.start, part.stop)
        products = weights[held.entries[:, 0].astype(np.int64)] * held.entries[:, 1]
        owners = np.repeat(np.arange(len(held.rows)), held.counts)
        scores[held.rows] = np.bincount(owners, products, len(held.rows))
    return scores


def extend(folder: Path, field: SparseField, count: int, read: ReadEntries) -> None:
    """Make the inverted index of all rows if many are not covered."""
    covered = newest(folder, _name(field.name), count, lambda derived: derived.covered) or 0
    if count - covered <= max(UNINDEXED, covered // _GROWTH):
        return
    sizes = np.zeros(field.dimension + 1, np.int64)
    for part in _parts(0, count):
        sizes[1:] += np.bincount(read(part.start, part.stop).entries[:, 0].astype(np.int64), minlength=field.dimension)
    starts = np.cumsum(sizes)
    with deriving(folder, _name(field.name), count) as made:
        total, free = int(starts[-1]), starts[:-1].copy()
        rows = np.memmap(made / _ROWS, "<i4", "w+", shape=max(total, 1))
        weights = np.memmap(made / _WEIGHTS, "<u2", "w+", shape=max(total, 1))
        for part in _parts(0, count):
            held = read(part.start, part.stop)
            tokens = held.entries[:, 0].astype(np.int64)
            order = np.argsort(tokens, kind="stable")
            tokens = tokens[order]
            # Within a block, the entries of a token follow one another.
            first = np.searchsorted(tokens, tokens)
            places = free[tokens] + np.arange(len(tokens)) - first
            rows[places] = np.repeat(held.rows, held.counts)[order]
            weights[places] = packed(held.entries[order, 1])
            free += np.bincount(tokens, minlength=field.dimension)
        for array in (rows, weights):
            array.flush()
        del rows, weights
        starts.astype("<i8").tofile(made / _STARTS)


def load(folder: Path, field: SparseField, count: int) -> TokenPostings | None:
    """Return the inverted index that covers the most rows, up to `count`; None if there is none that can be used."""

    @reads_stored
    def read(derived: Derived) -> TokenPostings:
        starts = mapped(derived.path / _STARTS, "<i8", field.dimension + 1)
        total = int(starts[-1])
        if starts[0] or (np.diff(starts) < 0).any():
            raise ValueError("its parts do not follow one another")
        rows = mapped(derived.path / _ROWS, "<i4", total)
        if total and not 0 <= int(rows.min()) <= int(rows.max()) < derived.covered:
            raise ValueError("it names rows that it does not cover")
        return TokenPostings(derived.covered, starts, rows, mapped(derived.path / _WEIGHTS, "<u2", total))

    return newest(folder, _name(field.name), count, read)


def _name(field: str) -> str:
    return f"{field}.postings"


def _parts(start: int, stop: int) -> Iterator[range]:
    return (range(at, min(at + _BLOCK, stop)) for at in range(start, stop, _BLOCK))
