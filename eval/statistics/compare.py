"""Comparison of two or more runs: which queries changed, by how much, and whether this may be chance."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import asdict, dataclass
from typing import Any

from corpora.errors import InputError
from eval.measures.metrics import Scores, evaluate
from eval.statistics.interval import Values
from eval.statistics.pairs import Change, Pair, compare_values
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


def coverage_of(run: Run, qrels: Qrels, *, same_id_dropped: int, unknown: Set[str] | None) -> Coverage:
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


@dataclass(frozen=True, slots=True)
class Comparison:
    """What comparing runs found.

    Attributes:
        values: Value of each query, by run and measure.
        pairs: Every pair by every measure.
        level: Confidence level of the intervals.
        coverage: Coverage of each run and the judgments, if whole runs were given.
        texts: Text of the queries, if known.
        counts: Counts of the judgments: `queries`, `queries_without_relevant`, ...
    """

    values: Mapping[str, Values]
    pairs: tuple[Pair, ...]
    level: float
    coverage: Mapping[str, Coverage]
    texts: Mapping[str, str]
    counts: Mapping[str, int]

    def as_dict(self) -> dict[str, Any]:
        """Return it in full precision as JSON values, with every query."""
        pairs = [{**pair.as_dict(), "changes": [*map(self._told, pair.changes)]} for pair in self.pairs]
        coverage = {label: asdict(one) for label, one in self.coverage.items()}
        return {"level": self.level, "counts": dict(self.counts), "coverage": coverage, "pairs": pairs}

    def _told(self, change: Change) -> dict[str, Any]:
        text = {"text": self.texts[change.query]} if change.query in self.texts else {}
        return {**asdict(change), "difference": change.difference, **text}


def compare_runs(
    runs: Mapping[str, Run],
    qrels: Qrels,
    measures: Sequence[str] = ("nDCG@10",),
    *,
    texts: Mapping[str, str] | None = None,
    corpus_ids: Iterable[str] | None = None,
    drop_same_id: bool = False,
    level: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> Comparison:
    """Measure runs against the same judgments and compare each with every one given before it.

    Every judged query counts in every run (as 0 if the run lacks it), so that all means are over the same queries.

    Args:
        runs: Runs by label, the baseline first.
        qrels: The judgments.
        measures: Names that `eval.measures.metrics.parse_measure` takes.
        texts: Text of the queries, to show.
        corpus_ids: Ids of all documents of the corpus, to find unknown documents in runs; read once.
        drop_same_id: Whether to drop a query's own id, as `eval.measures.metrics.evaluate` takes it.
        level: Confidence level of the intervals.
        resamples: Number of resamples of the intervals and both tests.
        seed: Seed of all draws.

    Returns:
        The comparison, and how the runs and the judgments fit together.

    Raises:
        InputError: If a measure is unknown, no query of a run is judged, or there are fewer than two runs or queries.
        UnavailableError: If ir_measures isn't installed.
    """
    scores = {label: _measured(label, run, qrels, measures, drop_same_id=drop_same_id) for label, run in runs.items()}
    values = {label: one.per_query for label, one in scores.items()}
    counts = {"queries": len(qrels.gains), "queries_without_relevant": qrels.without_relevant}
    if texts is not None:
        counts["queries_without_text"] = len(qrels.gains.keys() - texts.keys())
    unknown = None
    if corpus_ids is not None:
        judged = qrels.documents
        ranked = {document for run in runs.values() for found in run.rankings.values() for document, _ in found}
        unknown = (judged | ranked).difference(corpus_ids)
        counts["judged_documents_not_in_the_corpus"] = len(judged & unknown)
    coverage = {
        label: coverage_of(run, qrels, same_id_dropped=scores[label].same_id_dropped, unknown=unknown)
        for label, run in runs.items()
    }
    pairs = compare_values(values, level=level, resamples=resamples, seed=seed)
    return Comparison(values, pairs, level, coverage, texts or {}, counts)


def _measured(label: str, run: Run, qrels: Qrels, measures: Sequence[str], *, drop_same_id: bool) -> Scores:
    try:
        return evaluate(run, qrels, measures, drop_same_id=drop_same_id)
    except InputError as error:
        raise InputError(f"{label}: {error.sentence}", error.hint) from error
