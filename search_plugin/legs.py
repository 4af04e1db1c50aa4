"""What one leg of a search (the lexical clause or one vector clause) brings back, and what fusion makes of the legs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Scored:
    """A paper and its score; larger is better whatever the leg measures."""

    id: str
    score: float


@dataclass(frozen=True, slots=True)
class Contribution:
    """What one leg gave to one hit.

    Attributes:
        rank: Position in the leg, from 1.
        raw: The leg's own score (BM25, similarity).
        value: What fusion added to the hit's score for it.
    """

    rank: int
    raw: float
    value: float


@dataclass(frozen=True, slots=True)
class Fused:
    """A paper's fused score and where it came from, by leg name; legs that did not find it are absent."""

    id: str
    score: float
    contributions: Mapping[str, Contribution]


def ranked(scores: Iterable[Scored]) -> list[Scored]:
    """Sort best first, ties by id in ascending order, so that every engine ranks alike."""
    return sorted(scores, key=lambda hit: (-hit.score, hit.id))
