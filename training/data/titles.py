"""Reads the titles of evaluation data in several forms: folders and archives of JSON and CSV files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from corpora.errors import require
from corpora.paper import Rejected
from corpora.tables import open_table
from eval.files.archives import unpacked
from training.data.records import read_records

_JSON, _TABLES = {".json", ".jsonl"}, {".csv", ".tsv"}


def titles_of(path: Path) -> list[str]:
    """Return every title in evaluation data.

    Args:
        path: A file of papers, a folder of such files, such as one in BEIR's form, or a tar archive of a folder. In
            JSON, a title is what any object has under `title`; in a table, what the column `title` has.

    Returns:
        The titles.

    Raises:
        InputError: If it can't be read or holds no title.
    """
    with ExitStack() as stack:
        files = [path]
        if path.is_dir() or ".tar" in path.suffixes:
            folder = stack.enter_context(unpacked(path))
            files = sorted(file for file in folder.rglob("*") if file.is_file() and file.stat().st_size)
        found = [title for file in files for title in _in_file(file)]
    require(found, f"{path} holds no title to guard: name evaluation data with titles.")
    return found


def _in_file(path: Path) -> Iterator[str]:
    suffixes = {suffix.lower() for suffix in path.suffixes}
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
