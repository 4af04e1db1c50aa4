"""Comparison of two or more runs: which queries changed, by how much, and whether this may be chance."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from corpora.errors import InputError
from eval.measures.metrics import Scores, evaluate
from eval.statistics.interval import Values
from eval.statistics.pairs import Change, Pair, compare_values
from eval.trec.coverage import Coverage, coverage_of
from eval.trec.judgments import Qrels
from eval.trec.runs import Run


@dataclass(frozen=True, slots=True)
class Comparison:
    """What comparing runs found.

    Attributes:
        values: By run and measure, the value of each query.
        pairs: Every pair by every measure.
        level: Confidence level of the intervals.
        coverage: How each run fits the judgments, if whole runs were given.
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
        runs: By label, the baseline first.
        qrels: The judgments.
        measures: Names that `eval.measures.metrics.parse_measure` takes.
        texts: Text of the queries, to show.
        corpus_ids: Ids of all documents of the corpus, to find unknown documents in runs; read once.
        drop_same_id: As `eval.measures.metrics.evaluate` takes it.
        level: Confidence level of the intervals.
        resamples: Of the intervals and both tests.
        seed: Seed of all draws.

    Returns:
        The comparison, and how the runs and the judgments fit together.

    Raises:
        InputError: If a measure is unknown, no query of a run is judged, or there are fewer than two runs or queries.
        UnavailableError: If ir_measures isn't installed.
    """
    scores = {label: _measured(label, run, qrels, measures, drop_same_id=drop_same_id) for label, run in runs.items()}
    values = {label: one.per_query for label, one in scores.items()}
    counts = {
        "queries": len(qrels.gains),
        "queries_without_relevant": qrels.without_relevant,
    }
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
