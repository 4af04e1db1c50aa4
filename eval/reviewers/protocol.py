"""Paper-reviewer matching: P@5 and P@10, soft and hard, by the rules of SciRepEval, CoF, UniPR and OpenReview."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from statistics import fmean

import numpy as np

from corpora.errors import require
from eval.embedder import Text, Vectors
from eval.measures.metrics import evaluate
from eval.outcome import Outcome, outcome_of
from eval.reranking import Ranked
from eval.reviewers.data import BEST, ReviewerSet
from eval.statistics.interval import Values
from eval.trec.judgments import Qrels
from eval.trec.runs import Run
from products.reviewers.rules import MATCHINGS, Matching

MEASURES = ("P@5", "P@10")

Also = Callable[[Run, ReviewerSet], Values]
"""A function from a run of reviewers to more measures."""

OLDER_CUTOFF = 5

_SCIREPEVAL = MATCHINGS["scirepeval"]


def evaluate_reviewers(
    data: ReviewerSet,
    embedders: Mapping[str, Callable[[Sequence[Text]], Vectors]],
    matching: Matching,
    also: Also | None = None,
) -> Outcome:
    """Rank each submission's judged reviewers; return P@5 and P@10, soft and hard, with intervals over submissions.

    By SciRepEval's rules one run is made, of the reviewers judged for the submissions of the hard set, and measured on
    both sets; submissions of the soft set alone are left out and counted. By the others' each set has a run of its own.
    `embedders` make the vectors of each factor of the matching, and `also` measures more of the run. Raises
    `InputError` if no submission or no reviewer's paper has a vector, or the embedders are of other factors.
    """
    texts = data.texts()
    vectors = {factor: embed(texts) for factor, embed in embedders.items()}
    hard, soft, candidates = data.hard, data.soft, _both(data.hard, data.soft)
    if matching.candidates == "hard":
        candidates = {submission: set(judged) for submission, judged in hard.gains.items()}
        soft = Qrels({query: soft.gains[query] for query in hard.gains if query in soft.gains})
    ranked = rank_reviewers(vectors, data.profiles, candidates, matching)
    require(
        ranked.counts["submissions_without_vector"] != ranked.counts["submissions"],
        "No submission has a vector: the texts or vectors belong to other papers.",
    )
    values: dict[str, Mapping[str, float]] = {}
    for name, qrels in (("soft", soft), ("hard", hard)):
        run = ranked.run if matching.candidates == "hard" else _only_judged(ranked.run, qrels)
        scores = evaluate(run, qrels, MEASURES)
        values |= {f"{name} {measure}": per_query for measure, per_query in scores.per_query.items()}
    if also:
        values |= also(ranked.run, data)
    counts = {**ranked.counts, "soft_submissions_left_out": len(data.soft.gains) - len(soft.gains), **data.counts}
    return outcome_of(values, counts)


def older_soft_precisions(run: Run, data: ReviewerSet) -> Values:
    """Return soft P@5 as older papers define it, by submission (UniPR, equation 12, for its table 4).

    Anjum et al. (2019) divide by the number of judged reviewers where it is less than five. Liu et al. (2014) add up
    the grades of the first five, of 15 at most; without grades, this one is left out.
    """
    precision = _first_measure(run, data.soft, f"P@{OLDER_CUTOFF}")
    judged = {name: len(of_each) for name, of_each in data.soft.gains.items()}
    of_judged = {name: value * OLDER_CUTOFF / min(OLDER_CUTOFF, judged[name]) for name, value in precision.items()}
    found = {f"soft P@{OLDER_CUTOFF} (Anjum)": of_judged}
    if data.grades:
        # A grade is the number of grades from 1 that it reaches.
        parts = [_first_measure(run, data.grades, f"P(rel={least})@{OLDER_CUTOFF}") for least in range(1, BEST + 1)]
        found[f"soft P@{OLDER_CUTOFF} (Liu)"] = {name: fmean(part[name] for part in parts) for name in parts[0]}
    return found


def rank_reviewers(
    vectors: Mapping[str, Vectors],
    profiles: Mapping[str, Sequence[str]],
    candidates: Mapping[str, Collection[str]],
    matching: Matching = _SCIREPEVAL,
) -> Ranked:
    """Rank the candidate reviewers of each submission by their papers; return the run, and counts of what was left out.

    A paper without a vector is left out of its reviewers' profiles. A reviewer without any paper is not ranked, or gets
    the score that the matching sets. For a submission without a vector nobody is ranked. `vectors` are those of
    submissions and reviewers' papers, by factor of the matching; `profiles` are the ids of each reviewer's papers, and
    `candidates` the judged reviewers of each submission. Raises `InputError` if no reviewer's paper has a vector, or
    the vectors are of other factors.
    """
    require(set(vectors) == set(matching.factors), f"Give vectors of each factor: {', '.join(matching.factors)}.")
    factors = [vectors[name] for name in matching.factors]
    wanted = dict.fromkeys(paper for papers in profiles.values() for paper in papers)
    known = [paper for paper in wanted if all(paper in factor.rows for factor in factors)]
    column = {paper: number for number, paper in enumerate(known)}
    columns = {
        reviewer: np.array([column[paper] for paper in papers if paper in column], dtype=np.int64)
        for reviewer, papers in profiles.items()
    }
    columns = {reviewer: own for reviewer, own in columns.items() if own.size}
    require(columns, "No paper of any reviewer has a vector: the vectors belong to other papers.")
    space = Vectors.directions if matching.cosine else _in_double
    spaces = [space(factor, known) for factor in factors]
    rankings: dict[str, list[tuple[str, float]]] = {}
    for submission, judged in candidates.items():
        rankings[submission] = []
        if all(submission in factor.rows for factor in factors):
            rows = (space(factor, [submission])[0] for factor in factors)
            similarities = {
                name: papers @ row for name, papers, row in zip(matching.factors, spaces, rows, strict=True)
            }
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


def _both(hard: Qrels, soft: Qrels) -> dict[str, set[str]]:
    """Return the reviewers judged for each submission in either set."""
    submissions = dict.fromkeys((*hard.gains, *soft.gains))
    return {name: {*hard.gains.get(name, ()), *soft.gains.get(name, ())} for name in submissions}


def _only_judged(run: Run, qrels: Qrels) -> Run:
    """Return the judged reviewers of a run. This is valid because a score doesn't depend on other candidates."""
    judged_only = {
        name: [(reviewer, score) for reviewer, score in run.rankings[name] if reviewer in judged]
        for name, judged in qrels.gains.items()
    }
    return Run(run.tag, judged_only)


def _of_candidates(matching: Matching, scores: Mapping[str, float], judged: Collection[str]) -> list[tuple[str, float]]:
    found = ((reviewer, scores.get(reviewer, matching.unmatched)) for reviewer in judged)
    return [(reviewer, score) for reviewer, score in found if score is not None]


def _first_measure(run: Run, qrels: Qrels, measure: str) -> Mapping[str, float]:
    return next(iter(evaluate(_only_judged(run, qrels), qrels, [measure]).per_query.values()))


def _in_double(vectors: Vectors, ids: Sequence[str]) -> np.ndarray:
    return vectors.of(ids).astype(np.float64)
