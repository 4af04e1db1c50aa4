"""A review that is being screened: where its papers are, and what was decided."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from corpora.errors import InputError


@dataclass(frozen=True, slots=True)
class Decision:
    """A label.

    Attributes:
        id: Of the paper.
        included: Whether it was included.
        offered: Whether the review had offered the paper to read; others were known beforehand.
    """

    id: str
    included: bool
    offered: bool = False


@dataclass(frozen=True, slots=True)
class ReviewState:
    """The state of a review.

    Attributes:
        index: Name of the index that holds the candidates.
        engine: Its URL.
        filter: Expression that the candidates match; empty for all papers of the index.
        decisions: In the order in which they were made, one for each paper.
        offered: Ids of papers that were offered to read.
    """

    index: str
    engine: str
    filter: str = ""
    decisions: tuple[Decision, ...] = ()
    offered: tuple[str, ...] = ()

    @property
    def labels(self) -> dict[str, bool]:
        """Whether each paper was included, by id."""
        return {decision.id: decision.included for decision in self.decisions}


def offer(review: ReviewState, ids: Sequence[str]) -> ReviewState:
    """Return the review with papers offered to read."""
    return replace(review, offered=tuple(dict.fromkeys([*review.offered, *ids])))


def label(review: ReviewState, labels: Mapping[str, bool], *, change: bool = False) -> ReviewState:
    """Return the review with more labels.

    Args:
        review: The review.
        labels: Whether each paper is included, by id; all are candidates.
        change: Whether a label may replace another one; it keeps its place in the order.

    Returns:
        The review.

    Raises:
        InputError: If a paper has the other label already, and that may not be changed.
    """
    held = review.labels
    contradicted = [id_ for id_, included in labels.items() if held.get(id_, included) != included]
    if contradicted and not change:
        was = "included" if held[contradicted[0]] else "excluded"
        others = f", and so are {len(contradicted) - 1:,} more" if len(contradicted) > 1 else ""
        raise InputError(f"The paper {contradicted[0]!r} is {was} already{others}", "say <change> to replace its label")
    offered = set(review.offered)
    kept = [replace(decision, included=labels.get(decision.id, decision.included)) for decision in review.decisions]
    new = [Decision(id_, included, id_ in offered) for id_, included in labels.items() if id_ not in held]
    return replace(review, decisions=(*kept, *new))
