"""The reviewers to choose from, with the papers of each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby, islice
from typing import TYPE_CHECKING, TypeVar

from corpora.errors import InputError, NotFoundError

if TYPE_CHECKING:
    from search_plugin.engines.base import Document, Index

_Item = TypeVar("_Item")

FIELD = "reviewers"
"""The field of an index that holds the ids of the reviewers who wrote a paper."""

READ = 1_000
"""Papers read from an index at once."""

PAPERS = 8_192
"""Most papers of a block, unless one reviewer has more."""


@dataclass(frozen=True, slots=True)
class Block:
    """Reviewers with the same number of papers, which follow each other: slices of reviewers and of their papers."""

    reviewers: slice
    papers: slice


@dataclass(frozen=True, slots=True)
class ReviewerPool:
    """Reviewers, those with fewer papers first.

    All papers of all reviewers, in this order, are the columns of a factor; a paper of two reviewers is two columns.

    Attributes:
        reviewers: Their ids.
        papers: The ids of each reviewer's papers.
    """

    reviewers: tuple[str, ...]
    papers: tuple[tuple[str, ...], ...]

    def column(self, reviewer: str) -> int:
        """Return the place of a reviewer, or raise `NotFoundError`."""
        try:
            return self.reviewers.index(reviewer)
        except ValueError:
            raise NotFoundError(
                f"There is no reviewer {reviewer!r} among the {len(self.reviewers):,}",
                f"give an id such as {self.reviewers[0]}",
            ) from None

    def blocks(self) -> Iterator[Block]:
        """Yield the reviewers in blocks of equal profiles."""
        first = [0, *accumulate(map(len, self.papers))]
        for size, group in groupby(range(len(self.papers)), lambda place: len(self.papers[place])):
            for part in in_blocks(group, max(1, PAPERS // size)):
                yield Block(slice(part[0], part[-1] + 1), slice(first[part[0]], first[part[-1] + 1]))

    def columns(self, place: int) -> slice:
        """Return the columns of a reviewer's papers."""
        start = sum(map(len, self.papers[:place]))
        return slice(start, start + len(self.papers[place]))


def in_blocks(items: Iterable[_Item], size: int) -> Iterator[tuple[_Item, ...]]:
    """Yield items in tuples of a size; the last may be shorter."""
    rest = iter(items)
    while block := tuple(islice(rest, size)):
        yield block


def make_pool(profiles: Mapping[str, Sequence[str]]) -> ReviewerPool:
    """Return the reviewers who have papers.

    Args:
        profiles: Reviewer to the ids of their papers.

    Returns:
        The pool.

    Raises:
        InputError: If nobody has a paper.
    """
    held = sorted((len(papers), name, tuple(papers)) for name, papers in profiles.items() if papers)
    if not held:
        raise InputError("No reviewer has a paper to be matched by", "index the papers of the reviewers first")
    return ReviewerPool(tuple(name for _, name, _ in held), tuple(papers for _, _, papers in held))


def read_pool(index: Index) -> ReviewerPool:
    """Return the reviewers of an index, or raise `InputError` if its papers name none."""
    if FIELD not in {field.name for field in index.schema.fields}:
        raise InputError(
            f"The index {index.name} has no field {FIELD}, so it is not one of reviewers' papers",
            "index the papers of the reviewers first",
        )
    profiles: dict[str, list[str]] = {}
    for ids in in_blocks(sorted(index.ids()), READ):
        for paper, values in index.values(ids, [FIELD]).items():
            named = values.get(FIELD, ())
            for reviewer in named if isinstance(named, tuple) else ():
                profiles.setdefault(reviewer, []).append(paper)
    return make_pool({reviewer: sorted(papers) for reviewer, papers in profiles.items()})


def read_papers(index: Index, pool: ReviewerPool, formats: Sequence[str]) -> Iterator[list[Document]]:
    """Yield the reviewers' papers with their vectors, in the order of the pool's columns, in blocks."""
    for ids in in_blocks((paper for papers in pool.papers for paper in papers), READ):
        held = index.documents(tuple(dict.fromkeys(ids)), formats)
        yield [held[paper] for paper in ids]
