"""Reviewers ranked for submissions."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from corpora.errors import InputError
from eval.embedder import Vectors
from eval.measures.similarity import l2_normalize
from eval.trec.runs import Run
from products.reviewers.rules import MATCHINGS, Matching

_SCIREPEVAL = MATCHINGS["scirepeval"]


@dataclass(frozen=True, slots=True)
class Ranked:
    """The result of `rank_reviewers`.

    Attributes:
        run: The candidates of each submission, ranked.
        counts: Counts of what was left out.
    """

    run: Run
    counts: Mapping[str, int]


def rank_reviewers(
    vectors: Mapping[str, Vectors],
    profiles: Mapping[str, Sequence[str]],
    candidates: Mapping[str, Collection[str]],
    matching: Matching = _SCIREPEVAL,
) -> Ranked:
    """Rank the candidate reviewers of each submission by their papers.

    A paper without a vector is left out of its reviewers' profiles. A reviewer without any paper is not ranked, or gets
    the score that the matching sets. For a submission without a vector nobody is ranked. All are counted.

    Args:
        vectors: Of submissions and reviewers' papers, by factor of the matching.
        profiles: Reviewer to the ids of their papers.
        candidates: Submission to the reviewers to rank for it, the judged ones.
        matching: The rules; by default SciRepEval's.

    Returns:
        The run, and what was left out.

    Raises:
        InputError: If no reviewer's paper has a vector, or the vectors are of other factors.
    """
    if set(vectors) != set(matching.factors):
        raise InputError(f"Give vectors of each factor: {', '.join(matching.factors)}.")
    factors = [vectors[name] for name in matching.factors]
    wanted = dict.fromkeys(paper for papers in profiles.values() for paper in papers)
    known = [paper for paper in wanted if all(paper in factor.rows for factor in factors)]
    column = {paper: number for number, paper in enumerate(known)}
    columns = {
        reviewer: np.array([column[paper] for paper in papers if paper in column], dtype=np.int64)
        for reviewer, papers in profiles.items()
    }
    columns = {reviewer: own for reviewer, own in columns.items() if own.size}
    if not columns:
        raise InputError("No paper of any reviewer has a vector: the vectors belong to other papers.")
    spaces = [_space(factor, known, cosine=matching.cosine) for factor in factors]
    rankings: dict[str, list[tuple[str, float]]] = {}
    for submission, judged in candidates.items():
        rankings[submission] = []
        if all(submission in factor.rows for factor in factors):
            rows = (_space(factor, [submission], cosine=matching.cosine)[0] for factor in factors)
            named = zip(matching.factors, spaces, rows, strict=True)
            similarities = {name: space @ row for name, space, row in named}
            rankings[submission] = _of_candidates(matching, matching.score(similarities, columns), judged)
    judged_anywhere = set().union(*candidates.values())
    counts = {
        "submissions": len(rankings),
        "submissions_without_vector": sum(any(name not in factor.rows for factor in factors) for name in rankings),
        "reviewer_papers": len(known),
        "reviewer_papers_without_vector": len(wanted) - len(known),
        "reviewers_without_papers": len(judged_anywhere - columns.keys()),
    }
    return Ranked(Run("reviewers", rankings), counts)


def _of_candidates(matching: Matching, scores: Mapping[str, float], judged: Collection[str]) -> list[tuple[str, float]]:
    found = ((reviewer, scores.get(reviewer, matching.unmatched)) for reviewer in judged)
    return [(reviewer, score) for reviewer, score in found if score is not None]


def _space(vectors: Vectors, ids: Sequence[str], *, cosine: bool) -> np.ndarray:
    rows = vectors.of(ids).astype(np.float64)
    return l2_normalize(rows) if cosine else rows
