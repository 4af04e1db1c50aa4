"""Any CSV or TSV table of papers with a header."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from corpora.accounting import accounted
from corpora.aliases import SINGLE, WORLDWIDE, check_columns, normal_name
from corpora.assembling import assemble
from corpora.custom import CustomField, placed
from corpora.errors import InputError, require
from corpora.opening import PLAIN, Opening
from corpora.outgoing import text_of_cell
from corpora.paper import Record, Rejected
from corpora.publication import parts_of_citation
from corpora.sniffing import refuse_folder
from corpora.tables import open_table

NAMED_BY = (*WORLDWIDE, "key")
"""Kinds of identifiers that are ids of a table's papers; the key of Zotero's or Rayyan's is one."""

_WOS: Mapping[str, str] = {
    "title": "TI",
    "abstract": "AB",
    "authors": "AF",
    "year": "PY",
    "venue": "SO",
    "types": "DT",
    "language": "LA",
    "fields": "DE",
    "doi": "DI",
    "pmid": "PM",
    "wos": "UT",
    "volume": "VL",
    "issue": "IS",
    "first_page": "BP",
    "last_page": "EP",
    "article_number": "AR",
    "publisher": "PU",
    "issn": "SN",
}
_SHORT: Mapping[frozenset[str], Mapping[str, str]] = {
    # Web of Science's "tab-delimited", whose ID is Keywords Plus.
    frozenset(("TI", "SO", "UT")): {"id": "", **_WOS},
    # Publish or Perish: elsewhere, a source is a database.
    frozenset(("GSRank", "Source")): {"venue": "Source"},
}
"""Columns by attribute of programs whose names say too little, by the names that tell the program."""

_EXPORTED = ("rank", "score", "weak")
"""How a table begins that ses has written: there an apostrophe before a formula is no part of a text."""


def read(
    path: Path, columns: Mapping[str, str], custom: Sequence[CustomField] = (), opening: Opening = PLAIN
) -> Iterator[Record]:
    """Read a table lazily; see `Reader`. Columns that are not mapped are found by their usual names, in any case.

    A row without an id has that of its DOI, PMID, or another identifier, or its key, else a hash of title, authors and
    year. Raises `InputError` if it is not a table, a mapped column is missing, or there is no column for the title.
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
            yield accounted(cells, partial(read_row, row.line, columns=chosen, custom=fields))


def read_row(line: int, cells: Mapping[str, str], columns: Mapping[str, str], custom: Sequence[CustomField]) -> Record:
    """Return the paper of a row, by the columns that `choose_columns` gives, or why it is none."""
    if "Citation" in cells:  # PubMed has volume, issue and pages nowhere else
        cells = {**parts_of_citation(cells["Citation"]), **cells}
    return assemble(line, cells, columns, custom, named_by=NAMED_BY)


def choose_columns(path: Path, header: tuple[str, ...], columns: Mapping[str, str]) -> Mapping[str, str]:
    """Return the columns of a table by attribute, in its own spelling; others are found by their usual names.

    `columns` are as the user wrote them. Raises `InputError` if one is missing, or if there is none for the title.
    """
    there = ", ".join(filter(None, header))
    by_lower = {name.lower(): name for name in reversed(header)}
    chosen = {attribute: by_lower.get(column.strip().lower(), "") for attribute, column in columns.items()}
    absent = ", ".join(sorted(columns[attribute] for attribute, column in chosen.items() if not column))
    require(not absent, f"{path} has no column {absent}; it has: {there}.")
    for names, meant in _SHORT.items():
        if names <= set(header):
            chosen = {**{attribute: name for attribute, name in meant.items() if name in ("", *header)}, **chosen}
    if "title" not in chosen and not {normal_name(name) for name in header}.intersection(SINGLE["title"]):
        raise InputError(
            f"{path} has no column for the title; it has: {there}",
            "name one of them with <columns>, such as title=NAME",
        )
    return chosen
