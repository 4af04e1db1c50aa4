"""Says why a reviewer suits a submission: the nearest of their papers by each factor, and their rank."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from corpora.errors import InputError
from corpora.paper import Paper
from products.reviewers.factors import FactorBuilder
from products.reviewers.matching import MatchingOptions, compared
from products.reviewers.venue import Venue

SHOWN = 3
"""Papers of each factor."""


@dataclass(frozen=True, slots=True)
class Near:
    """A reviewer's paper, and its similarity to the submission."""

    paper: Paper
    similarity: float


@dataclass(frozen=True, slots=True)
class Reason:
    """What a factor says of a reviewer and a submission.

    Attributes:
        score: Of the reviewer.
        rank: Among all reviewers.
        nearest: The reviewer's papers most like the submission.
    """

    score: float
    rank: int
    nearest: tuple[Near, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the reason as JSON shows it."""
        nearest = [{"id": one.paper.id, "title": one.paper.title, "similarity": one.similarity} for one in self.nearest]
        return {"score": self.score, "rank": self.rank, "nearest": nearest}


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a reviewer suits a submission, or does not.

    Attributes:
        submission: The submission.
        reviewer: Their id.
        reviewers: How many reviewers there are.
        factors: By name.
        conflict: Why the reviewer must not review it; empty if they may.
    """

    submission: Paper
    reviewer: str
    reviewers: int
    factors: Mapping[str, Reason]
    conflict: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the explanation as JSON shows it."""
        return {
            "paper": self.submission.id,
            "reviewer": self.reviewer,
            "conflict": self.conflict or None,
            "factors": {name: reason.to_dict() for name, reason in self.factors.items()},
        }


def explain(
    venue: Venue, reviewer: str, builders: Callable[[Path], Mapping[str, FactorBuilder]], options: MatchingOptions
) -> Explanation:
    """Say why a reviewer suits the only submission of a venue; `builders` and `options` are those of `match`.

    Raises `InputError` if there are several submissions, and `NotFoundError` if there is no such reviewer.
    """
    if len(venue.submissions) != 1:
        raise InputError(f"One submission is explained at a time, not {len(venue.submissions):,}; name one.")
    place = venue.pool.column(reviewer)
    ids, columns = venue.pool.papers[place], venue.pool.columns(place)
    papers = venue.index.papers(ids)
    reasons = {}
    with compared(venue, builders, options) as found:
        for name, factor in found.factors.items():
            similarity = factor.similarities(slice(0, 1), columns)[0]
            scores = found.scores.factors[name].read(0, 1)[0]
            order = np.argsort(-similarity, kind="stable")[:SHOWN].tolist()
            nearest = tuple(Near(papers[ids[row]], float(similarity[row])) for row in order)
            reasons[name] = Reason(float(scores[place]), 1 + int((scores > scores[place]).sum()), nearest)
        conflict = found.reasons.get(0, {}).get(place, "")
    return Explanation(venue.submissions[0], reviewer, len(venue.pool.reviewers), reasons, conflict)
