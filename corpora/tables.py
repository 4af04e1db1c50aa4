"""Reads delimited text (CSV, TSV) row by row, each with the line it begins on."""

from __future__ import annotations

import csv
import re
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from corpora.errors import InputError
from corpora.opening import as_text, open_binary
from corpora.paper import Rejected
from corpora.sniffing import refuse_other

if TYPE_CHECKING:
    from collections.abc import Iterator
    from io import TextIOWrapper
    from pathlib import Path

LONGEST_CELL = 16 << 20
"""In characters; an opening quote that is never closed would otherwise swallow the rest of the file."""

_DELIMITERS = ",\t;|"
_QUOTED = re.compile(r'"[^"]*"')
_NOT_UTF8 = re.compile("[\udc80-\udcff]")


@dataclass(frozen=True, slots=True)
class DelimitedRow:
    """One row.

    Attributes:
        line: Line on which it begins.
        cells: Its cells by column name.
    """

    line: int
    cells: dict[str, str]


@dataclass(frozen=True, slots=True)
class DelimitedTable:
    """An open table.

    Attributes:
        header: Names of the columns.
        rows: The rows, readable once; those that don't fit the header are rejected.
    """

    header: tuple[str, ...]
    rows: Iterator[DelimitedRow | Rejected]


class _Lines:
    """The lines of a file, and how many were read; they are counted by line feeds, as editors do."""

    def __init__(self, stream: TextIOWrapper, path: Path) -> None:
        self._stream, self._path = stream, path
        self.ended = 0

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = self._stream.readline(LONGEST_CELL)
        if not line:
            raise StopIteration
        if len(line) == LONGEST_CELL:
            raise InputError(f"{self._path}'s line {self.ended + 1} is endless: it isn't a table, name another file.")
        self.ended += line.endswith("\n")
        return line


@contextmanager
def open_table(path: Path, wanted: str, accepted: tuple[str, ...]) -> Iterator[DelimitedTable]:
    """Open a delimited file whose first line names its columns.

    The delimiter is a tab in `.tsv` and `.tab` files, otherwise the most frequent of `, tab ; |` in the header.

    Args:
        path: The file, plain or compressed.
        wanted: What was expected, for the message if the file is something else.
        accepted: The kinds of `corpora.sniffing` it may look like.

    Yields:
        The table, readable until the context ends.

    Raises:
        InputError: If the file can't be opened, looks like something else or has no header.
    """
    # csv has only one limit, for the whole process; some abstracts are longer than its default of 131,072.
    csv.field_size_limit(max(csv.field_size_limit(), LONGEST_CELL))
    with open_binary(path) as binary, as_text(binary) as stream:
        refuse_other(path, binary.peek(), wanted, accepted)
        lines = _Lines(stream, path)
        first = next((line for line in lines if line.strip()), "")
        header = tuple(name.strip() for name in next(csv.reader([first], delimiter=_delimiter(path, first)), []))
        if not any(header):
            raise InputError(f"{path} has no header: its first line must name the columns.")
        yield DelimitedTable(header, _rows(lines, header, _delimiter(path, first)))


def _delimiter(path: Path, header: str) -> str:
    if {".tsv", ".tab"} & {suffix.lower() for suffix in path.suffixes}:
        return "\t"
    bare = _QUOTED.sub("", header)
    return max(_DELIMITERS, key=bare.count)


def _rows(lines: _Lines, header: tuple[str, ...], delimiter: str) -> Iterator[DelimitedRow | Rejected]:
    reader = csv.reader(lines, delimiter=delimiter)
    while True:
        line = lines.ended + 1
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            yield Rejected(line, f"The row can't be read ({error}); it takes up lines {line} to {lines.ended}.")
            continue
        if not cells:
            continue
        if any(not cell.isascii() and _NOT_UTF8.search(cell) for cell in cells):
            yield Rejected(line, "The row has bytes that aren't UTF-8.")
        elif len(cells) < len(header) or any(cells[len(header) :]):
            yield Rejected(line, f"The row has {len(cells)} columns where the header has {len(header)}.")
        else:
            yield DelimitedRow(line, dict(zip(header, cells, strict=False)))
