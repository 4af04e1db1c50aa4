"""The submissions of a venue and its reviewers: their names, institutions, room, and declared conflicts."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from corpora.cleaning import texts_of
from corpora.errors import InputError, require, short_list
from corpora.paper import Paper
from corpora.tables import read_rows
from products.reviewers.pool import ReviewerPool
from search_plugin.contract.engine import Index

ReviewPair = tuple[str, str]
"""The ids of a submission and of a reviewer."""

_ID = ("reviewer", "id")


@dataclass(frozen=True, slots=True)
class Reviewer:
    """A reviewer: their id in the index of papers, name as on papers, institutions, and how many submissions they take.

    A capacity of None is the default.
    """

    id: str
    name: str = ""
    institutions: tuple[str, ...] = ()
    capacity: int | None = None


def read_people(path: Path) -> dict[str, Reviewer]:
    """Read reviewers by id from CSV with the columns `reviewer` (or `id`), and perhaps name, institution and capacity.

    A cell of institutions may hold several, with `;` between. Raises `InputError` if a column is missing, two reviewers
    have one id, or a capacity is not a whole number.
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


def read_declared(path: Path, papers: Collection[str], reviewers: Collection[str]) -> set[ReviewPair]:
    """Read declared conflicts from CSV with the columns paper and reviewer; errors as of `read_pairs`."""
    return {pair for _, pair, _ in read_pairs(path, papers, reviewers)}


def read_pairs(
    path: Path, papers: Collection[str], reviewers: Collection[str], more: Sequence[str] = ()
) -> Iterator[tuple[int, ReviewPair, Mapping[str, str]]]:
    """Yield line, pair and cells of each row of CSV with the columns paper and reviewer, and `more`.

    Raises `InputError` if a column is missing, or there is no such paper or reviewer.
    """
    columns = ("paper", "reviewer", *more)
    for line, cells in _rows(path):
        if not cells.keys() >= {*columns}:
            raise InputError(f"{path} needs the columns {', '.join(columns)}; it has: {', '.join(cells)}.")
        pair = cells["paper"].strip(), cells["reviewer"].strip()
        for noun, name, known in zip(("submission", "reviewer"), pair, (papers, reviewers), strict=True):
            if name not in known:
                raise InputError(
                    f"{path}, line {line}: there is no {noun} {name!r}; correct its id, or delete the line."
                )
        yield line, pair, cells


def _rows(path: Path) -> Iterator[tuple[int, Mapping[str, str]]]:
    for line, cells in read_rows(path, "a CSV table"):
        yield line, {name.strip().lower(): cell for name, cell in cells.items()}


def _capacity(text: str, path: Path, line: int) -> int | None:
    if not text.strip():
        return None
    if not text.strip().isascii() or not text.strip().isdigit():
        raise InputError(f"{path}, line {line}: the capacity {text!r} is not a whole number.")
    return int(text)


@dataclass(frozen=True, slots=True)
class Venue:
    """What is matched.

    Attributes:
        submissions: The submissions.
        pool: The reviewers with their papers.
        index: Holds these papers.
        people: Facts about reviewers, by id.
        declared: Declared conflicts.
        bids: What reviewers bid for submissions, from -1 to 1.
    """

    submissions: Sequence[Paper]
    pool: ReviewerPool
    index: Index
    people: Mapping[str, Reviewer] = field(default_factory=dict)
    declared: Collection[ReviewPair] = ()
    bids: Mapping[ReviewPair, float] = field(default_factory=dict)

    def room(self, capacity: int) -> list[int]:
        """Return how many submissions each reviewer of the pool takes; `capacity` where nothing is said of one."""
        people = (self.people.get(reviewer) for reviewer in self.pool.reviewers)
        return [capacity if one is None or one.capacity is None else one.capacity for one in people]


def check_submissions(submissions: Sequence[Paper]) -> None:
    """Raise `InputError` if there are no submissions, or two with one id."""
    require(submissions, "There are no submissions to match.")
    seen: set[str] = set()
    for paper in submissions:
        if paper.id in seen:
            raise InputError(f"Two submissions have the id {paper.id}; keep one of them, or give the other a new id.")
        seen.add(paper.id)


def notes_on(pool: ReviewerPool, people: Mapping[str, Reviewer]) -> list[str]:
    """Return sentences about reviewers whose profiles say little: those without papers, and those with one."""
    absent = sorted(people.keys() - set(pool.reviewers))
    single = [reviewer for reviewer, papers in zip(pool.reviewers, pool.papers, strict=True) if len(papers) == 1]
    notes = []
    if absent:
        notes.append(f"{_named(absent)} without papers in the index: they get no submissions.")
    if single:
        notes.append(f"{_named(single)} with one paper only: their scores rest on it alone.")
    return notes


def _named(reviewers: Sequence[str]) -> str:
    noun = "reviewer" if len(reviewers) == 1 else "reviewers"
    return f"{len(reviewers):,} {noun} ({short_list(reviewers)})"
