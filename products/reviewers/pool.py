"""The reviewers to choose from, with the papers of each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby

from corpora.errors import InputError, NotFoundError, require
from products.indexed import in_blocks, read_values
from search_plugin.contract.engine import Index

FIELD = "reviewers"
"""The field of an index that holds the ids of the reviewers who wrote a paper."""

PAPERS = 8_192
"""Most papers of a block, unless one reviewer has more."""


@dataclass(frozen=True, slots=True)
class Block:
    """Reviewers with the same number of papers, which follow each other: slices of reviewers and of their papers."""

    reviewers: slice
    papers: slice


@dataclass(frozen=True, slots=True)
class ReviewerPool:
    """Ids of reviewers, those with fewer papers first, and the ids of each one's papers.

    All papers of all reviewers, in this order, are the columns of a factor; a paper of two reviewers is two columns.
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


def make_pool(profiles: Mapping[str, Sequence[str]]) -> ReviewerPool:
    """Return the reviewers who have papers, from the ids of each one's papers; `InputError` if nobody has a paper."""
    held = sorted((len(papers), name, tuple(papers)) for name, papers in profiles.items() if papers)
    require(held, "No reviewer has a paper to be matched by", "index the papers of the reviewers first")
    return ReviewerPool(tuple(name for _, name, _ in held), tuple(papers for _, _, papers in held))


def read_pool(index: Index) -> ReviewerPool:
    """Return the reviewers of an index, or raise `InputError` if its papers name none."""
    if FIELD not in {field.name for field in index.schema.fields}:
        raise InputError(
            f"The index {index.name} has no field {FIELD}, so it is not one of reviewers' papers",
            "index the papers of the reviewers first",
        )
    profiles: dict[str, list[str]] = {}
    for paper, values in read_values(index, [FIELD]):
        named = values.get(FIELD, ())
        for reviewer in named if isinstance(named, tuple) else ():
            profiles.setdefault(reviewer, []).append(paper)
    return make_pool({reviewer: sorted(papers) for reviewer, papers in profiles.items()})
