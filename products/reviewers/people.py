"""Facts about reviewers beside their papers: name, institutions, room, and declared conflicts."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from corpora.cleaning import texts_of
from corpora.errors import InputError, require
from corpora.paper import Rejected
from corpora.tables import open_table

_ID = ("reviewer", "id")


@dataclass(frozen=True, slots=True)
class Reviewer:
    """A reviewer.

    Attributes:
        id: As in the index of the reviewers' papers.
        name: As on papers.
        institutions: Where they work.
        capacity: How many submissions they take; None for the default.
    """

    id: str
    name: str = ""
    institutions: tuple[str, ...] = ()
    capacity: int | None = None


def read_people(path: Path) -> dict[str, Reviewer]:
    """Read a table of reviewers.

    Args:
        path: CSV with the columns `reviewer` (or `id`), and, if wanted, `name`, `institution` (several with `;`
            between) and `capacity`.

    Returns:
        By id.

    Raises:
        InputError: If a column is missing, two reviewers have one id, or a capacity is no whole number.
    """
    people: dict[str, Reviewer] = {}
    for line, cells in _rows(path):
        key = next((name for name in _ID if name in cells), "")
        if not key:
            raise InputError(f"{path} has no column reviewer; it has: {', '.join(cells)}.")
        if not (reviewer := cells[key].strip()):
            raise InputError(f"{path}, line {line}: the reviewer has no id.")
        if reviewer in people:
            raise InputError(f"{path}, line {line}: there are two reviewers with the id {reviewer}; keep one of them.")
        people[reviewer] = Reviewer(
            reviewer,
            cells.get("name", "").strip(),
            texts_of(cells.get("institution") or cells.get("institutions") or ""),
            _capacity(cells.get("capacity", ""), path, line),
        )
    require(people, f"{path} has no reviewers.")
    return people


def read_declared(path: Path, papers: Collection[str], reviewers: Collection[str]) -> set[tuple[str, str]]:
    """Read declared conflicts.

    Args:
        path: CSV with the columns `paper` and `reviewer`.
        papers: Ids of the submissions.
        reviewers: Ids of the reviewers.

    Returns:
        Pairs of both.

    Raises:
        InputError: If a column is missing, or there is no such paper or reviewer.
    """
    pairs = set()
    for line, cells in _rows(path):
        if not {"paper", "reviewer"} <= cells.keys():
            raise InputError(f"{path} needs the columns paper and reviewer; it has: {', '.join(cells)}.")
        paper, reviewer = cells["paper"].strip(), cells["reviewer"].strip()
        for noun, name, known in (("submission", paper, papers), ("reviewer", reviewer, reviewers)):
            if name not in known:
                raise InputError(
                    f"{path}, line {line}: there is no {noun} {name!r}; correct its id, or delete the line."
                )
        pairs.add((paper, reviewer))
    return pairs


def _rows(path: Path) -> Iterator[tuple[int, Mapping[str, str]]]:
    with open_table(path, "a CSV table", ("csv",)) as table:
        for row in table.rows:
            if isinstance(row, Rejected):
                raise InputError(f"{path}, line {row.line}: {row.reason}")
            yield row.line, {name.strip().lower(): cell for name, cell in row.cells.items()}


def _capacity(text: str, path: Path, line: int) -> int | None:
    if not text.strip():
        return None
    if not text.strip().isascii() or not text.strip().isdigit():
        raise InputError(f"{path}, line {line}: the capacity {text!r} is no whole number.")
    return int(text)
