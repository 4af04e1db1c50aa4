"""How a run and the judgments fit together: counts of what one has and the other lacks."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass

from eval.trec.judgments import Qrels
from eval.trec.runs import Run


@dataclass(frozen=True, slots=True)
class Coverage:
    """How a run and the judgments fit together.

    Attributes:
        missing_queries: Judged queries that the run lacks; they count 0.
        unjudged_queries: Queries of the run without judgments; left out.
        documents: Documents ranked for judged queries.
        unjudged_documents: Those of them without a judgment for their query; they count as not relevant.
        relevant: Pairs judged relevant.
        relevant_not_found: Those of them that the run doesn't rank.
        same_id_dropped: Results left out because they were the query itself.
        unknown_documents: Documents ranked that the corpus lacks; None where no corpus was given.
    """

    missing_queries: tuple[str, ...]
    unjudged_queries: tuple[str, ...]
    documents: int
    unjudged_documents: int
    relevant: int
    relevant_not_found: int
    same_id_dropped: int = 0
    unknown_documents: int | None = None


def coverage_of(run: Run, qrels: Qrels, *, same_id_dropped: int = 0, unknown: Set[str] | None = None) -> Coverage:
    """Count what a run and the judgments lack of each other; `unknown` are ids of documents that the corpus lacks."""
    documents = unjudged = relevant = missed = 0
    strange: set[str] = set()
    missing = []
    for query, judged in qrels.gains.items():
        # One query at a time, because a run of 10 million lines makes its rankings on demand.
        found = {document for document, _ in run.rankings.get(query, ())}
        wanted = {document for document, gain in judged.items() if gain > 0}
        if not found:
            missing.append(query)
        documents += len(found)
        unjudged += len(found - judged.keys())
        relevant += len(wanted)
        missed += len(wanted - found)
        strange |= found.intersection(unknown or ())
    return Coverage(
        missing_queries=tuple(missing),
        unjudged_queries=tuple(query for query in run.rankings if query not in qrels.gains),
        documents=documents,
        unjudged_documents=unjudged,
        relevant=relevant,
        relevant_not_found=missed,
        same_id_dropped=same_id_dropped,
        unknown_documents=None if unknown is None else len(strange),
    )
