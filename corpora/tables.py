"""Reads delimited text (CSV, TSV) row by row, each with the line it begins on.

A quote that is never closed would swallow the rows after it, up to the next quote. Rows are therefore read strictly
(RFC 4180): where that fails, only the line on which the row begins is rejected, and reading continues on the next line.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import TextIOWrapper
from itertools import chain
from pathlib import Path

from corpora.aliases import SINGLE, normal_name
from corpora.errors import InputError, require
from corpora.opening import NOT_UTF8, PLAIN, Opening, as_text, open_binary
from corpora.paper import Rejected
from corpora.sniffing import refuse_other

LONGEST_CELL = 16 << 20
"""Most characters of a cell, and of a line."""

_DELIMITERS = ",\t;|"
LINES_BEFORE = 4
"""The most lines, or rows, before a header."""

_TURNED = (
    *("TITLE", "AUTHOR NAMES", "SOURCE TITLE", "SOURCE", "PUBLICATION YEAR", "ABSTRACT", "DOI", "PUI", "MEDLINE PMID"),
    *("EMTREE DRUG INDEX TERMS", "EMTREE MEDICAL INDEX TERMS", "AUTHOR KEYWORDS", "PUBLICATION TYPE", "ISSN", "VOLUME"),
    *("ARTICLE LANGUAGE", "LANGUAGE OF ARTICLE", "ISSUE", "FULL TEXT LINK", "EMBASE LINK"),
)
"""The fields of Embase's table."""

_QUOTED = re.compile(r'"[^"]*"')
_NOT_UTF8 = re.compile("[\udc80-\udcff]")


@dataclass(frozen=True, slots=True)
class DelimitedRow:
    """One row: the line on which it begins, and its cells by column name."""

    line: int
    cells: dict[str, str]


@dataclass(frozen=True, slots=True)
class DelimitedTable:
    """An open table: its header, and its rows, readable once; those that don't fit the header are rejected."""

    header: tuple[str, ...]
    rows: Iterator[DelimitedRow | Rejected]


class _TooLongError(Exception):
    """A line is longer than `LONGEST_CELL`; it has been skipped."""


_SKIPPED = ""
"""Stands for such a line."""


class _Lines:
    """The lines of a file, which can go back to the second line of a row; they are counted by line feeds."""

    def __init__(self, stream: TextIOWrapper) -> None:
        self._stream = stream
        self._again: list[str] = []
        self.row: list[str] = []
        self.number = 1

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        self.row.append(self._again.pop() if self._again else self._read())
        if self.row[-1] == _SKIPPED:
            raise _TooLongError
        return self.row[-1]

    def _read(self) -> str:
        line = self._stream.readline(LONGEST_CELL)
        if not line:
            raise StopIteration
        if len(line) < LONGEST_CELL or line.endswith("\n"):
            return line
        while line and not line.endswith("\n"):
            line = self._stream.readline(LONGEST_CELL)
        return _SKIPPED

    def begin(self) -> None:
        """Begin a row on the next line, whose number is `number`; its lines are kept in `row`."""
        self.number += len(self.row)
        self.row = []

    def back(self) -> None:
        """Read the row's lines again, except the first one."""
        self._again += reversed(self.row[1:])
        del self.row[1:]

    def ahead(self, number: int) -> list[str]:
        """Return the next lines, as many as there are before one that is too long; they are read again."""
        read = len(self.row)
        try:
            return [line for _, line in zip(range(number), self, strict=False)]
        except _TooLongError:
            return self.row[read:-1]
        finally:
            self._again += reversed(self.row[read:])
            del self.row[read:]

    def skip_quoted(self) -> int:
        """Skip the rest of a row within quotes that is too long to keep; return the number of the row's last line."""
        self.begin()
        while True:
            try:
                line = next(self)
            except _TooLongError:
                line = _SKIPPED
            except StopIteration:
                return self.number - 1
            if line.count('"') % 2:
                return self.number
            self.begin()


@contextmanager
def open_table(
    path: Path, wanted: str, accepted: tuple[str, ...], opening: Opening = PLAIN
) -> Iterator[DelimitedTable]:
    """Open a delimited file whose first line names its columns; it is readable until the context ends.

    The delimiter is a tab in `.tsv` and `.tab` files, otherwise the most frequent of `, tab ; |` in the header. Raises
    `InputError` if the file can't be opened, looks like a kind other than `accepted`, of `corpora.sniffing`, or
    has no header.
    """
    # csv has only one limit, for the whole process; some abstracts are longer than its default of 131,072.
    csv.field_size_limit(max(csv.field_size_limit(), LONGEST_CELL))
    with open_binary(path, opening.encoding) as binary, as_text(binary) as stream:
        refuse_other(path, binary.peek(), wanted, accepted)
        lines = _Lines(stream)
        try:
            first = _header_line(path, lines)
        except _TooLongError:
            raise InputError(f"{path}'s first line is endless: it isn't a table, name another file.") from None
        names = [name.strip() for name in next(csv.reader([first], delimiter=_delimiter(path, first)), [])]
        require(any(names), f"{path} has no header: its first line must name the columns.")
        header = distinct_names(names)
        if _is_turned(lines, header):
            yield DelimitedTable(_TURNED, _turned(lines, first))
            return
        yield DelimitedTable(header, _rows(lines, header, _delimiter(path, first)))


def read_rows(path: Path, wanted: str, accepted: tuple[str, ...] = ("csv",)) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the line and the cells of each row of a table that must have no bad row.

    Raises `InputError` as `open_table` does, and at the first row that does not fit the header.
    """
    with open_table(path, wanted, accepted) as table:
        for row in table.rows:
            if isinstance(row, Rejected):
                raise InputError(f"{path}, line {row.line}: {row.reason}")
            yield row.line, row.cells


def distinct_names(header: Sequence[str]) -> tuple[str, ...]:
    """Return the names of columns, each once: a later one of the same name, or one without a name, has its number."""
    names: list[str] = []
    for number, name in enumerate(header, start=1):
        names.append(name if name and name not in names else f"{name or 'column'} ({number})")
    return tuple(names)


def _header_line(path: Path, lines: _Lines) -> str:
    """Return the line that names the columns: the first one, or one soon after it if only that names the title.

    Dimensions and some others write a sentence before it, and Excel `sep=;`.
    """
    first = next((line for line in lines if line.strip()), "")
    rows = (
        next(csv.reader([line], delimiter=_delimiter(path, line)), []) for line in (first, *lines.ahead(LINES_BEFORE))
    )
    return [first, *(next(lines) for _ in range(find_header(rows)))][-1]


def find_header(rows: Iterable[Sequence[str]]) -> int:
    """Return which of a table's first rows names the columns, from 0: the first that names the title, else the first.

    `rows` are the first one and up to `LINES_BEFORE` more.
    """
    for number, row in enumerate(rows):
        cells = [cell for cell in row if cell.strip()]
        if len(cells) > 1 and any(normal_name(cell) in SINGLE["title"] for cell in cells):
            return number
    return 0


def _is_turned(lines: _Lines, header: tuple[str, ...]) -> bool:
    """Return whether fields are in rows, so that the header is the first of them."""
    if header[0] == "TITLE":
        following = "".join(lines.ahead(1)).lstrip('"')
        return following.startswith(("AUTHOR NAMES", "SOURCE", "ABSTRACT"))
    return header[0] == "RECORD 1"


def _turned(lines: _Lines, first: str) -> Iterator[DelimitedRow | Rejected]:
    """Yield the records of Embase's table, in which each row is a field: its name, and its values."""
    cells: dict[str, str] = {}
    begin = lines.number + len(lines.row) - 1
    for row in chain(csv.reader([first]), _turned_rows(lines)):
        if not row or row[0].startswith("RECORD ") or row[0] in cells:
            if cells:
                yield _turned_record(begin, cells)
            cells, begin = {}, 0
        if row and not row[0].startswith("RECORD "):
            cells[row[0]] = "; ".join(filter(None, (cell.strip() for cell in row[1:])))
            begin = begin or lines.number
    if cells:
        yield _turned_record(begin, cells)


def _turned_rows(lines: _Lines) -> Iterator[list[str]]:
    reader = csv.reader(lines)
    while True:
        lines.begin()
        try:
            yield next(reader)
        except StopIteration:
            return
        except (csv.Error, _TooLongError):
            yield []


def _turned_record(line: int, cells: dict[str, str]) -> DelimitedRow | Rejected:
    if any(_NOT_UTF8.search(cell) for cell in cells.values()):
        return Rejected(line, f"The record has {NOT_UTF8}.")
    source = cells.get("SOURCE TITLE") or cells.get("SOURCE", "").partition(" (")[0]
    return DelimitedRow(line, {**dict.fromkeys(_TURNED, ""), **cells, "SOURCE TITLE": source})


def _delimiter(path: Path, header: str) -> str:
    if {".tsv", ".tab"} & {suffix.lower() for suffix in path.suffixes}:
        return "\t"
    bare = _QUOTED.sub("", header)
    return max(_DELIMITERS, key=bare.count)


def _rows(lines: _Lines, header: tuple[str, ...], delimiter: str) -> Iterator[DelimitedRow | Rejected]:
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    while True:
        lines.begin()
        line = lines.number
        try:
            cells = next(reader)
        except StopIteration:
            return
        except (csv.Error, _TooLongError) as error:
            if "field limit" in str(error) and not _is_row(lines.row[1:2], header, delimiter):
                last = lines.skip_quoted()
                yield Rejected(line, f"A cell is longer than {LONGEST_CELL >> 20} MiB; {_extent(line, last)}.")
                continue
            lines.back()
            if lines.row[0] == _SKIPPED:
                yield Rejected(line, f"The line is longer than {LONGEST_CELL >> 20} MiB.")
                continue
            loose = _read_loosely(lines.row[0], delimiter)
            if loose is None:
                yield Rejected(line, "A quote of this row is never closed; only this line is left out.")
                continue
            cells = loose
        if cells:
            yield _row(line, len(lines.row), cells, header)


def _read_loosely(line: str, delimiter: str) -> list[str] | None:
    """Return the cells of a line whose quotes aren't doubled, or None if its last quote stays open."""
    rows = list(csv.reader([line.rstrip("\r\n") + "\n", "."], delimiter=delimiter))
    return rows[0] if len(rows) > 1 else None


def _is_row(lines: list[str], header: tuple[str, ...], delimiter: str) -> bool:
    cells = _read_loosely(lines[0], delimiter) if lines else None
    return cells is not None and len(cells) == len(header) > 1


def _extent(first: int, last: int) -> str:
    return f"the row takes up lines {first} to {last}"


def _row(line: int, lines: int, cells: list[str], header: tuple[str, ...]) -> DelimitedRow | Rejected:
    if any(not cell.isascii() and _NOT_UTF8.search(cell) for cell in cells):
        return Rejected(line, f"The row has {NOT_UTF8}.")
    if len(cells) < len(header) or any(cells[len(header) :]):
        takes = f"; {_extent(line, line + lines - 1)}" if lines > 1 else ""
        return Rejected(line, f"The row has {len(cells)} columns where the header has {len(header)}{takes}.")
    return DelimitedRow(line, dict(zip(header, cells, strict=False)))
