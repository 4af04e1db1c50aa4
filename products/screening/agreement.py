"""Two screeners of one review: how far their labels agree, and the papers to talk about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import eq


@dataclass(frozen=True, slots=True)
class ScreeningConflict:
    """A paper with two labels.

    Attributes:
        id: Its id.
        title: Its title; empty if the index does not hold the paper any more.
        included: Whether the first review includes it; the other one says the opposite.
        by: Name of who decided in the first review; empty if it names nobody.
        other_by: Name of who decided in the other one.
    """

    id: str
    title: str
    included: bool
    by: str = ""
    other_by: str = ""


@dataclass(frozen=True, slots=True)
class ScreeningAgreement:
    """What `library.screening.compare` returns.

    Attributes:
        both: Number of papers that both reviews have labelled.
        included: Number of papers that both include.
        excluded: Number of papers that both exclude.
        conflicts: The papers whose labels differ, by id.
        kappa: Cohen's kappa; None if all labels of both reviews are the same, where it is undefined.
    """

    both: int
    included: int
    excluded: int
    conflicts: tuple[ScreeningConflict, ...]
    kappa: float | None


def cohen_kappa(one: Sequence[bool], other: Sequence[bool]) -> float | None:
    """Return Cohen's kappa of two labels for each paper, or None if chance alone would make them all agree."""
    agreed = sum(map(eq, one, other)) / len(one)
    first, second = (sum(labels) / len(labels) for labels in (one, other))
    chance = first * second + (1 - first) * (1 - second)
    return None if chance == 1 else (agreed - chance) / (1 - chance)
