"""Suites by name: the made-up one, and those that a manifest lists, a TOML file of entries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import ConfigDict, ValidationError, validate_call

from corpora.documents import read_text, read_toml
from corpora.errors import InputError, require
from eval.suites import smoke
from eval.suites.base import Entry
from eval.suites.kinds import KINDS

OFFLINE = Path(__file__).with_name("offline.toml")
SUITES = ("smoke", "offline")


def get_suite(name: str, manifest: Path | None = None) -> Sequence[Entry]:
    """Return the entries of the suite `smoke` or `offline`; a manifest takes the place of offline's own.

    Raises `InputError` if there is no such suite, or the manifest can't be read.
    """
    require(name in SUITES, f"There is no suite {name!r}; choose one of {', '.join(SUITES)}.")
    if name == "smoke":
        require(not manifest, "The suite smoke makes its own papers", "leave <manifest> out, or run the suite offline")
        return smoke.ENTRIES
    if manifest is None:
        return read_manifest(OFFLINE)
    # Results are cached by the entry's name. An entry of another manifest may have the same name and other options.
    return [replace(entry, options=read_text(manifest)) for entry in read_manifest(manifest)]


def read_manifest(path: Path) -> list[Entry]:
    """Read a manifest, a TOML file of `[[entry]]` tables, each with a `kind` of `KINDS` and its options.

    Some kinds give two entries for one table. Raises `InputError` if the file can't be read, a kind or an option is
    wrong, or two entries have one name.
    """
    try:
        tables = read_toml(path).get("entry", [])
    except (OSError, ValueError) as error:
        raise InputError(f"The manifest {path} can't be read ({error}).") from error
    require(isinstance(tables, list) and tables, f"The manifest {path} lists no [[entry]].")
    entries = [entry for number, table in enumerate(tables, start=1) for entry in _entries(path, number, table)]
    require(
        len({entry.name for entry in entries}) == len(entries),
        f"The manifest {path} has two entries of one name; rename one.",
    )
    return entries


def _entries(path: Path, number: int, table: dict[str, Any]) -> Sequence[Entry]:
    options = dict(table)
    kind = options.pop("kind", None)
    require(kind in KINDS, f"Entry {number} of {path} needs a kind, one of {', '.join(KINDS)}.")
    try:
        return validate_call(config=ConfigDict(strict=True))(KINDS[kind])(**options)
    except ValidationError as error:
        first = error.errors()[0]
        raise InputError(f"Entry {number} of {path}: {'.'.join(map(str, first['loc']))}: {first['msg']}.") from error
