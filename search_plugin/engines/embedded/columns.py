"""The papers' values by field, for filters, so that these read no paper.

Numbers are an array with one value per row. All other kinds have an inverted index: for each value, the rows that hold
it. A value is stored as 64 bits of its BLAKE2b hash; the chance that two of ten million values have the same hash is
one in 370,000.

Columns cover a range of rows and are derived from the papers' records. Column folders are named after the rows that
they cover, and are moved into place complete. Columns of later rows are kept in memory until `finish` writes them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from search_plugin.engines.embedded.derived import deriving, newest
from search_plugin.engines.embedded.errors import reads_stored
from search_plugin.engines.embedded.fields import COMPARED, held_values
from search_plugin.engines.embedded.files import mapped

if TYPE_CHECKING:
    import numpy as np

    from corpora.paper import Paper
    from search_plugin.engines.embedded.fields import Kinds

NAME = "columns"
_POSTINGS = {"keys": "<u8", "starts": "<i8", "rows": "<u4"}


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
        import numpy as np

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
        stop: One past the last row.
        numbers: By field, float64 (stop - start,), NaN if missing.
        postings: By field.
    """

    start: int
    stop: int
    numbers: Mapping[str, np.ndarray]
    postings: Mapping[str, Postings]


def gather(papers: Iterable[Paper | None], start: int, kinds: Kinds) -> Columns:
    """Make the columns of some rows.

    Args:
        papers: Of consecutive rows; None for a row without a paper.
        start: The first row.
        kinds: Of the fields.

    Returns:
        The columns.
    """
    import numpy as np

    numbers: dict[str, list[float]] = {name: [] for name, kind in kinds.items() if kind in COMPARED}
    keys: dict[str, list[int]] = {name: [] for name in kinds if name not in numbers}
    rows: dict[str, list[int]] = {name: [] for name in keys}
    known: dict[object, int] = {}
    row = start - 1
    for row, paper in enumerate(papers, start):
        held = held_values(paper, kinds) if paper else {}
        for name, column in numbers.items():
            column.append(held.pop(name, np.nan))
        for name, value in held.items():
            values = value if isinstance(value, list) else [value]
            keys[name] += [known.get(one) or known.setdefault(one, _key(one)) for one in values]
            rows[name] += [row] * len(values)
    return Columns(
        start,
        row + 1,
        {name: np.array(column, np.float64) for name, column in numbers.items()},
        {name: _inverted(np.array(keys[name], np.uint64), np.array(rows[name], np.uint32)) for name in keys},
    )


def joined(first: Columns, second: Columns) -> Columns:
    """Return the columns of two adjacent ranges as one."""
    import numpy as np

    def numbers(columns: Columns, name: str) -> np.ndarray:
        column = columns.numbers.get(name)
        return np.full(columns.stop - columns.start, np.nan) if column is None else column

    def pairs(name: str) -> Postings:
        there = [columns.postings[name] for columns in (first, second) if name in columns.postings]
        keys = [np.repeat(one.keys, one.starts[1:] - one.starts[:-1]) for one in there]
        return _inverted(np.concatenate(keys), np.concatenate([one.rows for one in there]))

    return Columns(
        first.start,
        second.stop,
        {
            name: np.concatenate([numbers(first, name), numbers(second, name)])
            for name in {**first.numbers, **second.numbers}
        },
        {name: pairs(name) for name in {**first.postings, **second.postings}},
    )


def save(folder: Path, columns: Columns) -> None:
    """Write columns that begin at row 0 into the folder of a generation, and remove those that cover less."""
    with deriving(folder, NAME, columns.stop) as part:
        part.mkdir()
        for name, values in columns.numbers.items():
            values.astype("<f8").tofile(part / f"{name}.numbers")
        for name, postings in columns.postings.items():
            for what, kind in _POSTINGS.items():
                getattr(postings, what).astype(kind).tofile(part / f"{name}.{what}")


@reads_stored
def load(folder: Path, count: int) -> Columns:
    """Map the columns of a generation that cover the most rows, at most `count`; empty columns if there are none."""
    import numpy as np

    found = newest(folder, NAME, count)
    if found is None:
        return Columns(0, 0, {}, {})
    covered, path = found
    numbers: dict[str, np.ndarray] = {}
    postings: dict[str, Postings] = {}
    for file in path.iterdir():
        if file.suffix == ".numbers":
            numbers[file.stem] = mapped(file, "<f8", covered)
        elif file.suffix == ".keys":
            whole = [(file.with_suffix(f".{what}"), kind) for what, kind in _POSTINGS.items()]
            postings[file.stem] = Postings(
                *(mapped(one, kind, one.stat().st_size // np.dtype(kind).itemsize) for one, kind in whole)
            )
    return Columns(0, covered, numbers, postings)


def _inverted(keys: np.ndarray, rows: np.ndarray) -> Postings:
    import numpy as np

    order = np.argsort(keys, kind="stable")
    unique, starts = np.unique(keys[order], return_index=True)
    return Postings(unique, np.append(starts, len(keys)).astype(np.int64), rows[order])


def _key(value: object) -> int:
    return int.from_bytes(hashlib.blake2b(str(value).encode(), digest_size=8).digest(), "little")
