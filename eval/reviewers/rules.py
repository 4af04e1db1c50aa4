"""How each paper turns similarities of a submission to reviewers' papers into a score of each reviewer."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Literal

import numpy as np

from corpora.errors import InputError
from encoders.formats import Format

if TYPE_CHECKING:
    from numpy.typing import NDArray

Profiles = Mapping[str, "NDArray[np.int64]"]
"""Reviewer to the columns of their papers, one or more."""

Score = Callable[["NDArray[np.float64]", Profiles], Mapping[str, float]]
"""Similarities (factors, papers) of one submission, and all reviewers' papers, to a score of each reviewer."""

TOP = 3
"""Papers of a reviewer that count in SciRepEval, CoF and UniPR."""


@dataclass(frozen=True, slots=True)
class Matching:
    """A paper's way to match reviewers.

    Attributes:
        factors: Name of each factor of relevance, and the format of the vectors that stand for it.
        cosine: Whether similarity is the cosine and not the dot product.
        score: From similarities to scores.
        unmatched: Score of a judged reviewer whom `score` gives none; if None, such a reviewer isn't ranked.
        candidates: Whose judged reviewers are ranked: those of the hard set, also where the soft one is measured
            (SciRepEval's code), or each set's own.
    """

    factors: Mapping[str, Format]
    cosine: bool
    score: Score
    unmatched: float | None = None
    candidates: Literal["hard", "own"] = "own"


def mean_of_top(similarities: NDArray[np.float64]) -> float:
    """Return the mean of the three largest, or of all where there are fewer (SciRepEval's code)."""
    return float(np.sort(similarities)[-TOP:].mean())


def by_aggregate(
    aggregate: Callable[[NDArray[np.float64]], float], similarities: NDArray[np.float64], profiles: Profiles
) -> dict[str, float]:
    """Score reviewers by one number taken over the similarities of all their papers, of the first factor alone."""
    return {reviewer: aggregate(similarities[0, columns]) for reviewer, columns in profiles.items()}


def chain_of_factors(similarities: NDArray[np.float64], profiles: Profiles) -> dict[str, float]:
    """Score reviewers as the code of Chain-of-Factors does (Zhang et al., WWW 2025).

    Of all n papers of reviewers, the n // 50 of largest semantic similarity are kept, and of those the n // 100 of
    largest similarity by citation. A kept paper scores the sum of its three factors, a reviewer the sum of the three
    best divided by three always: papers that lack or were not kept count 0.

    Args:
        similarities: Of semantic, topic and citation, in this order.
        profiles: All reviewers.

    Returns:
        Scores of all reviewers.

    Raises:
        InputError: If there are so few papers that none would be kept.
    """
    semantic, _, citation = similarities
    count = len(semantic)
    if count < 100:
        raise InputError(
            f"The chain of factors keeps a hundredth of the reviewers' papers, and of {count} that is none: "
            "use a larger data set or another protocol."
        )
    first = np.argsort(-semantic, kind="stable")[: count // 50]
    kept = first[np.argsort(-citation[first], kind="stable")][: count // 100]
    total = np.full(count, -np.inf)
    total[kept] = similarities[:, kept].sum(axis=0)
    scores = {}
    for reviewer, columns in profiles.items():
        own = np.sort(total[np.unique(columns)])[-TOP:]
        scores[reviewer] = float(own[np.isfinite(own)].sum()) / TOP
    return scores


def reciprocal_ranks(similarities: NDArray[np.float64], profiles: Profiles) -> dict[str, float]:
    """Score reviewers by the sum of 1 / rank over factors (UniPR, section 3.3, equation 10).

    The rank is among all reviewers, by the mean of the top three of the factor; equal ones share the best rank.
    """
    by_factor = np.array([[mean_of_top(row[columns]) for columns in profiles.values()] for row in similarities])
    better = [np.searchsorted(np.sort(-row), -row, side="left") for row in by_factor]
    scores = (1 / (1 + np.array(better, dtype=np.float64))).sum(axis=0)
    return dict(zip(profiles, scores.tolist(), strict=True))


def openreview(aggregate: str = "max") -> Matching:
    """Return the matching of openreview-expertise.

    Args:
        aggregate: `max` (its default), `average`, or a percentile of a reviewer's papers such as `p75`.

    Returns:
        The matching.

    Raises:
        InputError: If there is no such aggregate.
    """
    percentile = re.fullmatch(r"p(\d{1,2}|100)", aggregate, re.ASCII)
    if aggregate == "max":
        score: Callable[[NDArray[np.float64]], float] = lambda row: float(row.max())  # noqa: E731
    elif aggregate == "average":
        score = lambda row: float(row.mean())  # noqa: E731
    elif percentile:
        score = lambda row: float(np.percentile(row, int(percentile[1])))  # noqa: E731
    else:
        raise InputError(f"There is no aggregate {aggregate!r}; give max, average or a percentile such as p75.")
    return Matching({"proximity": Format.PRX}, cosine=True, score=partial(by_aggregate, score))


_FACTORS = {"semantic": Format.PRX, "topic": Format.CLF, "citation": Format.PRX}
"""Vectors of a topic are those for classification, as in UniPR's choice of baselines (section 4.1.2)."""

MATCHINGS: Mapping[str, Matching] = {
    "scirepeval": Matching(
        {"proximity": Format.PRX}, cosine=True, score=partial(by_aggregate, mean_of_top), candidates="hard"
    ),
    "cof": Matching(_FACTORS, cosine=False, score=chain_of_factors, unmatched=0.0),
    "unipr": Matching(_FACTORS, cosine=False, score=reciprocal_ranks),
    "openreview": openreview(),
}
