"""Spreadsheets: the first sheet with a header, read by calamine (.xlsx, .xls, .xlsb and .ods)."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from corpora.accounting import accounted
from corpora.aliases import check_columns
from corpora.custom import CustomField, placed
from corpora.errors import InputError, require
from corpora.installed import extra, needing
from corpora.opening import PLAIN, Opening
from corpora.paper import Record, Rejected
from corpora.readers.delimited import choose_columns, read_row
from corpora.sniffing import refuse_folder
from corpora.tables import LINES_BEFORE, distinct_names, find_header

LONGEST_FILE = 256 << 20
"""Most bytes of a spreadsheet, unpacked: a sheet is in memory as a whole."""


def read(
    path: Path, columns: Mapping[str, str], custom: Sequence[CustomField] = (), opening: Opening = PLAIN
) -> Iterator[Record]:
    """Read the first sheet that isn't empty, which is in memory as a whole; see `Reader`. A record's line is its row.

    Columns that are not mapped are found by their usual names, in any case. Raises `InputError` if the file is no
    spreadsheet, too long, or lacks a column, and `UnavailableError` if python-calamine isn't installed.
    """
    check_columns(columns)
    refuse_folder(path, "a spreadsheet")
    require(not opening.encoding, "A spreadsheet has an encoding of its own", "leave <encoding> out")
    first, rows = _rows(path)
    before = find_header([_text(cell) for cell in row] for row in rows[: LINES_BEFORE + 1])
    first, rows = first + before, rows[before:]
    names = [_text(cell).strip() for cell in rows[0]] if rows else []
    require(any(names), f"{path} has no header: its first row must name the columns.")
    header = distinct_names(names)
    chosen = choose_columns(path, header, columns)
    fields = placed(custom, header, path)
    for line, row in enumerate(rows[1:], start=first + 1):
        cells = [_text(cell) for cell in row]
        if not any(cells):
            continue
        if any(cells[len(header) :]):
            yield Rejected(line, f"The row has {len(cells)} columns where the header has {len(header)}.")
        else:
            named = dict(zip(header, cells, strict=False))
            yield accounted(named, partial(read_row, line, columns=chosen, custom=fields))


def _rows(path: Path) -> tuple[int, Sequence[Sequence[object]]]:
    """Return the rows of the first sheet that isn't empty, and the number of the first of them."""
    with needing("Reading spreadsheets needs python-calamine, and CSV does not", extra("spreadsheets")):
        from python_calamine import CalamineError, CalamineWorkbook

    try:
        _check_size(path)
        with path.open("rb") as file:
            workbook = CalamineWorkbook.from_filelike(file)
            for name in workbook.sheet_names:
                sheet = workbook.get_sheet_by_name(name)
                if sheet.start is not None:
                    return sheet.start[0] + 1, sheet.to_python(skip_empty_area=True)
    except FileNotFoundError:
        raise InputError(f"There is no file {path}: check its name.") from None
    except (CalamineError, zipfile.BadZipFile, zlib.error, OSError, RuntimeError, ValueError) as error:
        reason = str(error).split("\n")[0][:100].rstrip(".")
        raise InputError(
            f"{path} isn't a spreadsheet that can be read ({reason}): save it again, or as CSV."
        ) from error
    raise InputError(f"{path} is an empty spreadsheet: name another file.")


def _check_size(path: Path) -> None:
    """Refuse a file that is too long when it is unpacked."""
    size = path.stat().st_size
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            size = sum(member.file_size for member in archive.infolist())
            # The sizes that it states hold only if nothing of it is damaged.
            if size <= LONGEST_FILE and (damaged := archive.testzip()):
                raise zipfile.BadZipFile(f"{damaged} is damaged")
    if size > LONGEST_FILE:
        raise InputError(f"{path} is longer than {LONGEST_FILE >> 20} MiB: save it as CSV.")


def _text(cell: object) -> str:
    """Return a cell as the sheet shows it: a whole number without a fraction."""
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell)
