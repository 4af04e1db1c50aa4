"""Rankings of each query's judged candidates by the similarity of their vectors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from corpora.errors import require
from eval.embedder import Vectors
from eval.measures.metrics import evaluate
from eval.measures.similarity import Closeness, require_same_dimension
from eval.outcome import Outcome, outcome_of
from eval.trec.judgments import Qrels
from eval.trec.runs import Run


@dataclass(frozen=True, slots=True)
class Ranked:
    """A run of given candidates, and counts of what was ranked, and what was left out."""

    run: Run
    counts: Mapping[str, int]


def rerank(tag: str, qrels: Qrels, queries: Vectors, candidates: Vectors, closeness: Closeness) -> Ranked:
    """Rank each query's judged candidates, and no others, and return the run with the name `tag`.

    `closeness` takes the vectors of one query (1, dimension) and of its candidates (candidates, dimension). The run
    lacks queries without a vector (`queries_missing`); candidates without one are counted for each query
    (`candidates_missing`). Raises `InputError` if queries and candidates have vectors of different lengths.
    """
    require_same_dimension(queries.matrix, candidates.matrix)
    rankings: dict[str, list[tuple[str, float]]] = {}
    missing = 0
    for query, judged in qrels.gains.items():
        found = candidates.known(judged)
        missing += len(judged) - len(found)
        if query in queries.rows:
            scores = closeness(queries.of([query]), candidates.of(found)).ravel() if found else ()
            rankings[query] = [(name, float(score)) for name, score in zip(found, scores, strict=True)]
    counts = {"queries_missing": len(qrels.gains) - len(rankings), "candidates_missing": missing}
    return Ranked(Run(tag, rankings), counts)


def only_found(run: Run, qrels: Qrels) -> tuple[Run, Qrels]:
    """Return a run and its judgments without the queries that no candidate was ranked for."""
    found = {query: ranking for query, ranking in run.rankings.items() if ranking}
    return Run(run.tag, found), Qrels({query: judged for query, judged in qrels.gains.items() if query in found})


def ranked_outcome(
    run: Run, qrels: Qrels, measures: Sequence[str], counts: Mapping[str, int], names: Sequence[str] = ()
) -> Outcome:
    """Measure a run; judged queries that it lacks count 0.

    `measures` are names that `eval.measures.metrics.parse_measure` takes, `names` other names to show them under, and
    `counts` other counts to report. Raises `InputError` if no query of the run is judged, and `UnavailableError` if the
    library that computes a measure isn't installed.
    """
    require(run.rankings, "No judged query has a vector; give the embeddings of these queries and papers.")
    scores = evaluate(run, qrels, measures)
    all_counts = {"queries": scores.queries, "queries_without_relevant": scores.without_relevant, **counts}
    return outcome_of(dict(zip(names or measures, scores.per_query.values(), strict=True)), all_counts)
