"""Rules of each paper that turn the similarities of a submission and reviewers' papers into reviewers' scores."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

import numpy as np

from corpora.errors import InputError

Profiles = Mapping[str, np.ndarray]
"""Reviewer to the columns of their papers, one or more."""

Similarities = Mapping[str, np.ndarray]
"""Similarities of one submission to all papers of reviewers, by factor."""

Aggregate = Callable[[np.ndarray], np.ndarray]
"""A function that takes the last axis, the papers of a reviewer, to one number."""

Score = Callable[[Similarities, Profiles], Mapping[str, float]]
"""A function from similarities and profiles to a score of each reviewer."""

TOP = 3
"""Papers of a reviewer that count in SciRepEval, CoF and UniPR."""


@dataclass(frozen=True, slots=True)
class Matching:
    """A paper's way to match reviewers.

    Attributes:
        factors: Names of the factors of relevance; each has its own vectors.
        cosine: Whether similarity is the cosine and not the dot product.
        score: Function from similarities to scores.
        unmatched: Score of a judged reviewer for whom `score` has none; if None, such a reviewer isn't ranked.
        candidates: Judged reviewers that are ranked: those of the hard set for both sets (SciRepEval's code), or those
            of each set.
    """

    factors: tuple[str, ...]
    cosine: bool
    score: Score
    unmatched: float | None = None
    candidates: Literal["hard", "own"] = "own"

    def only(self, factors: Collection[str]) -> Matching:
        """Return these rules with fewer factors, or raise `InputError` if a factor is unknown or none is left."""
        if not factors or set(factors) - set(self.factors):
            raise InputError(f"Give vectors of one or more of the factors {', '.join(self.factors)}.")
        return replace(self, factors=tuple(factor for factor in self.factors if factor in factors))


def mean_of_top(similarities: np.ndarray) -> np.ndarray:
    """Return the mean of the three largest of the last axis, or of all if fewer, (..., n) to (...) (SciRepEval)."""
    if similarities.shape[-1] > TOP:
        similarities = np.partition(similarities, -TOP, axis=-1)[..., -TOP:]
    return np.asarray(similarities.mean(axis=-1))


def largest(similarities: np.ndarray) -> np.ndarray:
    """Return the largest of the last axis (openreview-expertise's default)."""
    return np.asarray(similarities.max(axis=-1))


AGGREGATES: Mapping[str, Aggregate] = {"top3": mean_of_top, "max": largest}
"""The ways to make the similarities of a reviewer's papers one number."""


UNIPR_AGGREGATES: Mapping[str, Aggregate] = {
    **AGGREGATES,
    "average": lambda rows: np.asarray(rows.mean(axis=-1)),
    "sum": lambda rows: np.asarray(rows.sum(axis=-1)),
}
"""Those that UniPR compares (figure 2)."""


def by_aggregate(aggregate: Aggregate, similarities: Similarities, profiles: Profiles) -> dict[str, float]:
    """Score reviewers by one number taken over the similarities of all their papers, by the only factor."""
    (similarity,) = similarities.values()
    return {reviewer: float(aggregate(similarity[columns])) for reviewer, columns in profiles.items()}


def chain_of_factors(similarities: Similarities, profiles: Profiles) -> dict[str, float]:
    """Score reviewers by semantic, topic and citation factors as the code of Chain-of-Factors (Zhang et al., WWW 2025).

    If reviewers have n papers in all, the n // 50 with the largest semantic similarity are kept, and from those the n
    // 100 with the largest citation similarity. The score of a kept paper is the sum of its three factors. The score of
    a reviewer is the sum of the three best papers, always divided by three: missing papers, and papers not kept, count
    0. A factor that isn't given has no effect. Raises `InputError` if there are so few papers that none would be kept.
    """
    total = np.sum(list(similarities.values()), axis=0)
    count = len(total)
    if count < 100:
        raise InputError(
            f"The chain of factors keeps a hundredth of the reviewers' papers, which is none of {count}: "
            "use a larger data set or another protocol."
        )
    kept = np.arange(count)
    for factor, part in (("semantic", 50), ("citation", 100)):
        if factor in similarities:
            kept = kept[np.argsort(-similarities[factor][kept], kind="stable")][: count // part]
    own = {reviewer: total[np.intersect1d(columns, kept)] for reviewer, columns in profiles.items()}
    return {reviewer: float(np.sort(best)[-TOP:].sum()) / TOP for reviewer, best in own.items()}


def reciprocal_ranks(
    similarities: Similarities, profiles: Profiles, aggregate: Aggregate = mean_of_top
) -> dict[str, float]:
    """Score reviewers by the sum of 1 / rank over factors (UniPR, section 3.3, equation 10).

    The rank is among all reviewers, by one number taken over the factor's similarities of all their papers, such as the
    mean of the top three; equal ones share the best rank.
    """
    rows = similarities.values()
    by_factor = np.array([[aggregate(row[columns]) for columns in profiles.values()] for row in rows])
    return dict(zip(profiles, sum_of_reciprocal_ranks(by_factor).tolist(), strict=True))


def sum_of_reciprocal_ranks(by_factor: np.ndarray) -> np.ndarray:
    """Return the sum of 1 / rank over factors: float64 (reviewers,) from (factors, reviewers); ties share the best."""
    better = [np.searchsorted(np.sort(-row), -row, side="left") for row in by_factor]
    return np.asarray((1 / (1 + np.array(better, dtype=np.float64))).sum(axis=0))


def openreview(aggregate: str = "max") -> Matching:
    """Return the matching of openreview-expertise; `InputError` if there is no such aggregate.

    The aggregate is `max` (its default), `average`, or a percentile of a reviewer's papers such as `p75`.
    """
    percentile = re.fullmatch(r"p(\d{1,2}|100)", aggregate, re.ASCII)
    score: Aggregate
    if aggregate in ("max", "average"):
        score = UNIPR_AGGREGATES[aggregate]
    elif percentile:
        score = partial(np.percentile, q=int(percentile[1]), axis=-1)
    else:
        raise InputError(f"There is no aggregate {aggregate!r}; give max, average or a percentile such as p75.")
    return Matching(("proximity",), cosine=True, score=partial(by_aggregate, score))


_FACTORS = ("semantic", "topic", "citation")

MATCHINGS: Mapping[str, Matching] = {
    "scirepeval": Matching(("proximity",), cosine=True, score=partial(by_aggregate, mean_of_top), candidates="hard"),
    "cof": Matching(_FACTORS, cosine=False, score=chain_of_factors, unmatched=0.0),
    "unipr": Matching(_FACTORS, cosine=False, score=reciprocal_ranks),
    "openreview": openreview(),
}


def matching_of(protocol: str, aggregate: str = "") -> Matching:
    """Return a paper's matching, with another aggregate than its own for unipr and openreview.

    The aggregate is one of `UNIPR_AGGREGATES`, or one that `openreview` takes. Raises `InputError` if the protocol has
    no such aggregate.
    """
    if not aggregate:
        return MATCHINGS[protocol]
    if protocol == "openreview":
        return openreview(aggregate)
    if protocol != "unipr":
        raise InputError(f"The protocol {protocol} has one way to join papers", "leave <aggregate> out, or take unipr")
    if aggregate not in UNIPR_AGGREGATES:
        raise InputError(f"There is no aggregate {aggregate!r}; give one of {', '.join(UNIPR_AGGREGATES)}.")
    return replace(MATCHINGS["unipr"], score=partial(reciprocal_ranks, aggregate=UNIPR_AGGREGATES[aggregate]))
