"""Reads the titles of evaluation data in several forms: folders and archives of JSON and CSV files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from corpora.errors import InputError, require
from corpora.paper import Rejected
from corpora.tables import open_table
from eval.files.archives import unpacked
from training.data.records import read_records

_JSON, _TABLES = {".json", ".jsonl"}, {".csv", ".tsv"}
_TARS, _OTHER_ARCHIVES = {".tar", ".tgz", ".tbz", ".tbz2", ".txz"}, {".zip", ".7z", ".rar"}
_DEEPEST = 3
"""Archives within each other."""


def titles_of(path: Path) -> list[str]:
    """Return every title in evaluation data.

    Args:
        path: A file of papers, a folder of such files, such as one in BEIR's form, or a tar archive of a folder, also
            within another. In JSON, a title is what any object has under `title`; in a table, what the column `title`
            has.

    Returns:
        The titles.

    Raises:
        InputError: If it can't be read, holds no title, or holds an archive that is not a tar archive.
    """
    found = list(_in_any(path, _DEEPEST))
    require(found, f"{path} holds no title to guard: name evaluation data with titles.")
    return found


def _in_any(path: Path, deepest: int) -> Iterator[str]:
    suffixes = {suffix.lower() for suffix in path.suffixes}
    if suffixes & _OTHER_ARCHIVES and path.is_file():
        raise InputError(f"{path} is an archive whose titles can't be guarded: unpack it and name the folder.")
    if not (path.is_dir() or suffixes & _TARS):
        yield from _in_file(path, suffixes)
        return
    require(
        deepest > 0, f"{path} is in more than {_DEEPEST} archives within each other: unpack it and name the folder."
    )
    with unpacked(path) as folder:
        for file in sorted(file for file in folder.rglob("*") if file.is_file() and file.stat().st_size):
            yield from _in_any(file, deepest - (not path.is_dir()))


def _in_file(path: Path, suffixes: set[str]) -> Iterator[str]:
    if suffixes & _JSON:
        for _, record in read_records(path):
            yield from _in_value(record)
    elif suffixes & _TABLES:
        with open_table(path, "evaluation data", ("csv", "cord19")) as table:
            named = [name for name in table.header if name.lower() in ("title", "primary_title")]
            for row in table.rows if named else ():
                if not isinstance(row, Rejected):
                    yield from filter(None, (row.cells[name] for name in named))


def _in_value(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(title := value.get("title"), str) and title:
            yield title
        for part in value.values():
            yield from _in_value(part)
    elif isinstance(value, list):
        for part in value:
            yield from _in_value(part)
