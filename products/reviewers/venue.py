"""The submissions of a venue, and the reviewers to choose from."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from corpora.errors import InputError, require, some
from corpora.paper import Paper
from products.reviewers.people import Reviewer
from products.reviewers.pool import ReviewerPool

if TYPE_CHECKING:
    from search_plugin.contract.engine import Index


@dataclass(frozen=True, slots=True)
class Venue:
    """What is matched.

    Attributes:
        submissions: The submissions.
        pool: The reviewers with their papers.
        index: Holds these papers.
        people: Facts about reviewers, by id.
        declared: Declared conflicts, pairs of a submission's id and a reviewer's.
    """

    submissions: Sequence[Paper]
    pool: ReviewerPool
    index: Index
    people: Mapping[str, Reviewer] = field(default_factory=dict)
    declared: Collection[tuple[str, str]] = ()

    def room(self, capacity: int) -> list[int]:
        """Return how many submissions each reviewer of the pool takes; `capacity` where nothing is said of one."""
        told = (self.people.get(reviewer) for reviewer in self.pool.reviewers)
        return [capacity if one is None or one.capacity is None else one.capacity for one in told]


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
    return f"{len(reviewers):,} {noun} ({some(reviewers)})"
