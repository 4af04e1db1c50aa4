"""The measures of paper-reviewer matching."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from corpora.errors import InputError
from eval.embedder import Text, Vectors
from eval.measures.metrics import evaluate
from eval.outcome import Outcome, outcome_of
from eval.reviewers.data import ReviewerSet
from eval.reviewers.ranking import rank_reviewers
from eval.trec.judgments import Qrels
from eval.trec.runs import Run
from products.reviewers.rules import Matching

MEASURES = ("P@5", "P@10")


def evaluate_reviewers(
    data: ReviewerSet, embedders: Mapping[str, Callable[[Sequence[Text]], Vectors]], matching: Matching
) -> Outcome:
    """Rank each submission's judged reviewers, and measure P@5 and P@10, soft and hard.

    By SciRepEval's rules one run is made, of the reviewers judged for the submissions of the hard set, and measured on
    both sets; submissions of the soft set alone are left out and counted. By the others' each set has a run of its own.

    Args:
        data: Submissions and reviewers.
        embedders: For each factor of the matching, what makes its vectors.
        matching: A paper's rules.

    Returns:
        Each measure with its interval over submissions.

    Raises:
        InputError: If no submission or no reviewer's paper has a vector, or the embedders are of other factors.
    """
    texts = data.texts()
    vectors = {factor: embed(texts) for factor, embed in embedders.items()}
    hard, soft, candidates = data.hard, data.soft, _both(data.hard, data.soft)
    if matching.candidates == "hard":
        candidates = {submission: set(judged) for submission, judged in hard.gains.items()}
        soft = Qrels({query: soft.gains[query] for query in hard.gains if query in soft.gains})
    ranked = rank_reviewers(vectors, data.profiles, candidates, matching)
    if ranked.counts["submissions_without_vector"] == ranked.counts["submissions"]:
        raise InputError("No submission has a vector: the texts or vectors belong to other papers.")
    values: dict[str, Mapping[str, float]] = {}
    for name, qrels in (("soft", soft), ("hard", hard)):
        run = ranked.run if matching.candidates == "hard" else _only_judged(ranked.run, qrels)
        scores = evaluate(run, qrels, MEASURES)
        values |= {f"{name} {measure}": per_query for measure, per_query in scores.per_query.items()}
    counts = {
        **ranked.counts,
        "soft_submissions_left_out": len(data.soft.gains) - len(soft.gains),
        **data.counts,
    }
    return outcome_of(values, counts)


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
