"""Results of the legs of a search (the lexical clause and each vector clause), and of their fusion."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

Join = Literal["ses", "engine"]
"""Who joins the legs of a hybrid search. If ses joins them, scores are explained, the same on every engine."""


RERANKED = "rerank"
"""The name of what a reranker with a model adds to a paper, beside the legs."""


class Scored(NamedTuple):
    """A paper found by a leg.

    Attributes:
        id: The paper's id.
        score: The leg's own score; larger is better.
        value: The paper's value of the field that the plan names as its column; None where it has none.
    """

    id: str
    score: float
    value: object = None


@dataclass(frozen=True, slots=True)
class Contribution:
    """One leg's part in a hit: rank from 1, the leg's own score, and what fusion added to the hit's score."""

    rank: int
    raw: float
    value: float


class Fused(NamedTuple):
    """A paper's fused score, and where it came from.

    Only the hits of a page need the contributions as such: a search ranks hundreds of papers.

    Attributes:
        id: The paper's id.
        score: The sum of its contributions; of papers behind those that a model ranked again, less by the same for all.
        given: Parts of a contribution by leg and id; all papers of a ranking share this.
    """

    id: str
    score: float
    given: Mapping[str, Mapping[str, tuple[int, float, float]]]

    @property
    def contributions(self) -> dict[str, Contribution]:
        """What each leg gave; legs that did not find the paper are absent."""
        return {leg: Contribution(*parts[self.id]) for leg, parts in self.given.items() if self.id in parts}


@dataclass(frozen=True, slots=True)
class Ranking:
    """The papers of legs that an engine joined, best first, ties by id; and, by id, the value of the plan's column."""

    fused: Sequence[Fused]
    values: Mapping[str, object] = field(default_factory=dict)


class Position(NamedTuple):
    """Where a paper stands in an order of papers, also after other papers came or went.

    Attributes:
        key: What the paper is sorted by, as its engine writes it: only the same engine can read it.
        id: The paper's id, since equal papers are ordered by it.
    """

    key: str | float | None
    id: str


@dataclass(frozen=True, slots=True)
class Listing:
    """The first papers that match a filter, in an order.

    Attributes:
        ids: Their ids.
        matches: How many papers match the filter.
        positions: Where each of them stands.
    """

    ids: Sequence[str]
    matches: int
    positions: Sequence[Position] = ()


@dataclass(frozen=True, slots=True)
class Facets:
    """Counts by field over all matches.

    Attributes:
        matches: How many papers were counted.
        counted: Description of the counted papers.
        counts: Most frequent values by field, with their counts; equal counts by value.
    """

    matches: int
    counted: str
    counts: Mapping[str, tuple[tuple[str | int | float, int], ...]]


def ranked(scores: Iterable[Scored]) -> list[Scored]:
    """Sort best first, ties by id in ascending order, so that every engine ranks alike."""
    return sorted(scores, key=lambda hit: (-hit.score, hit.id))
