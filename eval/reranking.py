"""Rankings of the candidates that a query was judged with, by how close their vectors are."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from corpora.errors import InputError
from eval.measures.metrics import evaluate
from eval.outcome import Outcome
from eval.statistics.interval import mean_interval
from eval.trec.judgments import Qrels
from eval.trec.runs import Run

if TYPE_CHECKING:
    import numpy as np

    from eval.embedder import Vectors

Closeness = Callable[["np.ndarray", "np.ndarray"], "np.ndarray"]
"""Vectors of one query (1, dimension) and of candidates (candidates, dimension) to a score of each, best largest."""


@dataclass(frozen=True, slots=True)
class Reranked:
    """What `rerank` made.

    Attributes:
        run: The judged candidates of each query that has a vector.
        queries_missing: Queries that have none; the run lacks them.
        candidates_missing: Pairs of a query and a candidate without a vector; the candidate is not ranked.
    """

    run: Run
    queries_missing: tuple[str, ...]
    candidates_missing: int


def rerank(tag: str, qrels: Qrels, queries: Vectors, candidates: Vectors, closeness: Closeness) -> Reranked:
    """Rank each query's judged candidates, and no others.

    Args:
        tag: Name of the run.
        qrels: The candidates of each query.
        queries: Vectors of the queries.
        candidates: Vectors of the candidates.
        closeness: How two are compared.

    Returns:
        The run and what it lacks.
    """
    rankings: dict[str, list[tuple[str, float]]] = {}
    missing = 0
    for query, judged in qrels.gains.items():
        found = [name for name in judged if name in candidates.rows]
        missing += len(judged) - len(found)
        if query in queries.rows:
            scores = closeness(queries.of([query]), candidates.of(found)).ravel() if found else ()
            rankings[query] = [(name, float(score)) for name, score in zip(found, scores, strict=True)]
    absent = tuple(query for query in qrels.gains if query not in rankings)
    return Reranked(Run(tag, rankings), absent, missing)


def ranked_outcome(run: Run, qrels: Qrels, measures: Sequence[str], counts: Mapping[str, int]) -> Outcome:
    """Measure a run; judged queries that it lacks count 0.

    Args:
        run: The run.
        qrels: The judgments.
        measures: As `eval.measures.metrics.parse_measure` takes them.
        counts: What else to tell.

    Returns:
        The means with their intervals over queries, and the values they are means of.

    Raises:
        InputError: If no query of the run is judged.
        UnavailableError: If pytrec_eval isn't installed.
    """
    if not run.rankings:
        raise InputError("No query has a vector: the embeddings belong to other papers, or nothing was judged.")
    scores = evaluate(run, qrels, measures)
    return Outcome(
        {measure: mean_interval(tuple(values.values())) for measure, values in scores.per_query.items()},
        scores.per_query,
        {"queries": scores.queries, "queries_without_relevant": scores.without_relevant, **counts},
    )
