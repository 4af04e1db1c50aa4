"""Any CSV or TSV table of papers with a header."""

from __future__ import annotations

from typing import TYPE_CHECKING

from corpora.aliases import SINGLE, check_columns, normal_name
from corpora.assembling import assemble
from corpora.custom import placed
from corpora.errors import InputError, require
from corpora.opening import PLAIN, Opening
from corpora.outgoing import text_of_cell
from corpora.paper import Record, Rejected
from corpora.sniffing import refuse_folder
from corpora.tables import open_table

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from corpora.custom import CustomField


_EXPORTED = ("rank", "score", "weak")
"""How a table begins that ses has written: there an apostrophe before a formula is no part of a text."""


def read(
    path: Path, columns: Mapping[str, str], custom: Sequence[CustomField] = (), opening: Opening = PLAIN
) -> Iterator[Record]:
    """Read a table lazily; see `Reader`. Columns that are not mapped are found by their usual names, in any case.

    Raises `InputError` if it is not a table, a mapped column is missing, or there is no column for the id or the title.
    """
    check_columns(columns)
    refuse_folder(path, "a table")
    with open_table(path, "a CSV or TSV table", ("csv", "cord19"), opening) as table:
        chosen = choose_columns(path, table.header, columns)
        fields = placed(custom, table.header, path)
        exported = table.header[: len(_EXPORTED)] == _EXPORTED
        for row in table.rows:
            if isinstance(row, Rejected):
                yield row
                continue
            cells = {name: text_of_cell(cell) for name, cell in row.cells.items()} if exported else row.cells
            yield assemble(row.line, cells, chosen, fields)


def choose_columns(path: Path, header: tuple[str, ...], columns: Mapping[str, str]) -> Mapping[str, str]:
    """Return the columns of a table by attribute, in its own spelling; others are found by their usual names.

    `columns` are as the user wrote them. Raises `InputError` if one is missing, or if there is none for id or title.
    """
    there = ", ".join(filter(None, header))
    by_lower = {name.lower(): name for name in reversed(header)}
    chosen = {attribute: by_lower.get(column.strip().lower(), "") for attribute, column in columns.items()}
    absent = ", ".join(sorted(columns[attribute] for attribute, column in chosen.items() if not column))
    require(not absent, f"{path} has no column {absent}; it has: {there}.")
    normal = {normal_name(name) for name in header}
    for attribute in ("id", "title"):
        if attribute not in chosen and not normal.intersection(SINGLE[attribute]):
            raise InputError(
                f"{path} has no column for the {attribute}; it has: {there}",
                f"name one of them with <columns>, such as {attribute}=NAME",
            )
    return chosen
