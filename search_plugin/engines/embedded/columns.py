"""The papers' values by field, as the word index keeps them, and as columns, so that filters read no paper.

In columns, numbers are an array with one value per row. All other kinds have an inverted index: for each value, the
rows that hold it. A value is stored as 64 bits of its BLAKE2b hash; the chance that two of ten million values have the
same hash is one in 370,000.

Columns cover a range of rows and are derived from the papers' records. Column folders are named after the rows that
they cover, and are moved into place complete. Columns of later rows are kept in memory until `finish` writes them.
"""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import date
from functools import lru_cache, reduce
from pathlib import Path
from typing import Any

from corpora.cleaning import first_day
from corpora.lazy import np
from corpora.paper import Paper
from search_plugin.contract import tree
from search_plugin.contract.schema import IndexSchema
from search_plugin.engines.embedded.derived import Derived, deriving, newest
from search_plugin.engines.embedded.errors import reads_stored
from search_plugin.engines.embedded.files import mapped

Kinds = Mapping[str, str]
"""The kind of each field that can be used in filters, by name."""

COMPARED = ("number", "date")
"""Kinds whose values are stored as ordered numbers."""


def kinds_of(schema: IndexSchema) -> Kinds:
    """Return the kinds of an index's fields, without those of text."""
    return {field.name: field.kind for field in schema.fields if field.kind != "text"}


def number_of(value: tree.Value) -> float:
    """Return a number, or the ordinal of a date's first day."""
    return float(date.fromisoformat(first_day(value)).toordinal() if isinstance(value, str) else value)


def held_values(paper: Paper, kinds: Kinds) -> dict[str, Any]:
    """Return a paper's values by field, without missing ones.

    Numbers and dates are floats, booleans True, and lists have no repetitions.
    """
    held: dict[str, Any] = {}
    for name, kind in kinds.items():
        value = paper.value(name)
        if value is None:
            continue
        if kind in COMPARED:
            held[name] = number_of(value)  # type: ignore[arg-type]  # a list is of another kind
        else:
            held[name] = list(dict.fromkeys(value)) if isinstance(value, tuple) else value
    return held


def compared_path(name: str, kinds: Kinds) -> str:
    """Return the name under which the word index keeps a field's number; field names have no capitals."""
    return f"fields.{name}Day" if kinds[name] == "date" else f"fields.{name}"


def to_json(held: Mapping[str, Any], kinds: Kinds) -> dict[str, Any]:
    """Return values for the word index: a date by its day for filters, and by its year for facets."""
    days = {f"{name}Day": value for name, value in held.items() if kinds[name] == "date"}
    years = {name: float(date.fromordinal(int(held[name])).year) for name in held if kinds[name] == "date"}
    return {**held, **days, **years}


NAME = "columns"
_POSTINGS = {"keys": "<u8", "starts": "<i8", "rows": "<u4"}
_KNOWN = 1 << 16
"""Values whose hashes are remembered while columns are made."""

_RANGES = 16
"""Ranges of hashes that are joined one after another, so that little is in memory at once."""


@dataclass(frozen=True, slots=True)
class Postings:
    """For each value the rows that hold it.

    Attributes:
        keys: Hashes of the values, uint64, ascending.
        starts: Start of each value's rows in `rows`, and the end, int64.
        rows: uint32, ascending for each value.
    """

    keys: np.ndarray
    starts: np.ndarray
    rows: np.ndarray

    @reads_stored
    def of(self, value: object) -> np.ndarray:
        """Return the rows that hold a value."""
        key = np.uint64(_key(value))
        at = int(np.searchsorted(self.keys, key))
        if at == len(self.keys) or self.keys[at] != key:
            return self.rows[:0]
        return self.rows[int(self.starts[at]) : int(self.starts[at + 1])]


@dataclass(frozen=True, slots=True)
class Columns:
    """The values of a range of rows.

    Attributes:
        start: The first row.
        stop: The row after the last one.
        numbers: Numbers by field, float64 (stop - start,), NaN if missing.
        postings: Postings by field.
    """

    start: int
    stop: int
    numbers: Mapping[str, np.ndarray]
    postings: Mapping[str, Postings]


def gather(papers: Iterable[Paper | None], start: int, kinds: Kinds) -> Columns:
    """Return the columns of the papers of consecutive rows from `start` on; None is a row without a paper."""
    numbers = {name: array("d") for name, kind in kinds.items() if kind in COMPARED}
    keys = {name: array("Q") for name in kinds if name not in numbers}
    rows = {name: array("I") for name in keys}
    key = lru_cache(_KNOWN)(_key)
    row = start - 1
    for row, paper in enumerate(papers, start):
        held = held_values(paper, kinds) if paper else {}
        for name, column in numbers.items():
            column.append(held.pop(name, np.nan))
        for name, value in held.items():
            values = value if isinstance(value, list) else [value]
            keys[name].extend(map(key, values))
            rows[name].extend([row] * len(values))
    return Columns(
        start,
        row + 1,
        {name: np.array(column, np.float64) for name, column in numbers.items()},
        {name: _inverted(np.array(keys[name], np.uint64), np.array(rows[name], np.uint32)) for name in keys},
    )


def save(folder: Path, parts: Sequence[Columns]) -> None:
    """Write the columns of adjacent ranges, the first from row 0 on, as one, and remove those that cover less."""
    with deriving(folder, NAME, parts[-1].stop) as part:
        for name in {name for one in parts for name in one.numbers}:
            with (part / f"{name}.numbers").open("wb") as file:
                for one in parts:
                    values = one.numbers.get(name, np.full(one.stop - one.start, np.nan))
                    file.write(values.astype("<f8").tobytes())
        for name in {name for one in parts for name in one.postings}:
            with ExitStack() as opened:
                files = {what: opened.enter_context((part / f"{name}.{what}").open("wb")) for what in _POSTINGS}
                for postings in _joined([one.postings[name] for one in parts if name in one.postings]):
                    for what, kind in _POSTINGS.items():
                        files[what].write(getattr(postings, what).astype(kind).tobytes())


def _joined(parts: Sequence[Postings]) -> Iterator[Postings]:
    """Yield the postings of adjacent ranges of rows as one, in pieces of which each continues the one before."""
    edges = np.arange(1, _RANGES, dtype=np.uint64) * np.uint64(2**64 // _RANGES)
    cuts = [[0, *np.searchsorted(one.keys, edges).tolist(), len(one.keys)] for one in parts]
    written = 0
    for at in range(_RANGES):
        pieces = [(one, slice(*cut[at : at + 2])) for one, cut in zip(parts, cuts, strict=True)]
        keys = [np.repeat(one.keys[held], np.diff(one.starts[held.start : held.stop + 1])) for one, held in pieces]
        rows = [one.rows[one.starts[held.start] : one.starts[held.stop]] for one, held in pieces]
        piece = _inverted(np.concatenate(keys), np.concatenate(rows))
        last = at == _RANGES - 1
        yield Postings(piece.keys, piece.starts[: None if last else -1] + written, piece.rows)
        written += len(piece.rows)


def load(folder: Path, count: int) -> Columns:
    """Map the columns of a generation that cover the most rows, at most `count`; empty columns if there are none."""
    return newest(folder, NAME, count, _mapped) or Columns(0, 0, {}, {})


@reads_stored
def _mapped(derived: Derived) -> Columns:
    numbers: dict[str, np.ndarray] = {}
    postings: dict[str, Postings] = {}
    for file in derived.sizes:
        name, _, what = file.rpartition(".")
        if what == "numbers":
            numbers[name] = mapped(derived.path / file, "<f8", derived.covered)
        elif what == "keys":
            parts = []
            for part, kind in _POSTINGS.items():
                size = derived.sizes[f"{name}.{part}"] // np.dtype(kind).itemsize
                parts.append(mapped(derived.path / f"{name}.{part}", kind, size))
            postings[name] = Postings(*parts)
    return Columns(0, derived.covered, numbers, postings)


def _inverted(keys: np.ndarray, rows: np.ndarray) -> Postings:
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    starts = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]])[: len(keys)])
    return Postings(keys[starts], np.append(starts, len(keys)).astype(np.int64), rows[order])


def _key(value: object) -> int:
    return int.from_bytes(hashlib.blake2b(str(value).encode(), digest_size=8).digest(), "little")


def passing(
    where: tree.Filter, parts: Sequence[Columns], count: int, saying: Callable[[tree.Filter], np.ndarray]
) -> np.ndarray:
    """Return which rows match a filter, bool (count,); undefined for rows without a paper.

    `parts` are the columns of all rows; a field without a column has no values. `saying` does the same for filters of
    words alone, which have no columns.
    """
    match where:
        case tree.Says() | tree.Begun() | tree.TermLike() | tree.Nearness():
            return saying(where)
        case tree.Not() | tree.And() | tree.Or() if of_words(where):
            return saying(where)
        case tree.Not(part):
            return ~passing(part, parts, count, saying)
        case tree.And(inner) | tree.Or(inner):
            joined = np.logical_and if isinstance(where, tree.And) else np.logical_or
            return reduce(joined, (passing(part, parts, count, saying) for part in _together(type(where), inner)))
        case tree.Alike() | tree.Wild() | tree.WildPhrase():
            raise tree.unresolved(where)
    mask = np.zeros(count, bool)
    for columns in parts:
        if (numbers := columns.numbers.get(where.field)) is not None:
            mask[columns.start : columns.stop] = _compared(where, numbers)
        elif (postings := columns.postings.get(where.field)) is not None:
            for rows in _listed(where, postings):
                _mark(mask, rows)
    return mask


@reads_stored
def _mark(mask: np.ndarray, rows: np.ndarray) -> None:
    mask[rows] = True


def of_words(where: tree.Filter, join: Callable[[Iterable[bool]], bool] = all) -> bool:
    """Return whether all parts of a filter, or any, ask for words; `join` is `all` or `any`."""
    match where:
        case tree.Says() | tree.Begun() | tree.TermLike() | tree.Nearness():
            return True
        case tree.Not(part):
            return of_words(part, join)
        case tree.And(parts) | tree.Or(parts):
            return join(of_words(part, join) for part in parts)
    return False


def _together(kind: type[tree.And | tree.Or], parts: Sequence[tree.Filter]) -> list[tree.Filter]:
    """Return the parts with those of words as one: together they find fewer rows than each by itself."""
    words = tuple(part for part in parts if of_words(part))
    if len(words) < 2:
        return list(parts)
    return [kind(words), *(part for part in parts if not of_words(part))]


def _compared(test: tree.Test, numbers: np.ndarray) -> np.ndarray:
    match test:
        case tree.Exists():
            there: np.ndarray = ~np.isnan(numbers)
            return there
        case tree.OneOf(_, values):
            within: np.ndarray = np.isin(numbers, np.array([number_of(value) for value in values]))
            return within
        case tree.Compare(_, op, value):
            passed: np.ndarray = tree.RELATIONS[op](numbers, number_of(value))
            return passed


def _listed(test: tree.Test, postings: Postings) -> list[np.ndarray]:
    match test:
        case tree.Exists():
            return [postings.rows]
        case tree.OneOf(_, values):
            return [postings.of(value) for value in values]
        case tree.Compare(_, _, value):
            return [postings.of(value)]
