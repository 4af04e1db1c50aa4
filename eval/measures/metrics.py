"""Measures of ranked retrieval, computed by trec_eval's own code through pytrec_eval."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from statistics import fmean
from typing import Any, Literal

from corpora.errors import InputError, require
from eval.optional import optional
from eval.outcome import Outcome, outcome_of
from eval.statistics.interval import Values
from eval.trec.judgments import Qrels
from eval.trec.runs import Run


@dataclass(frozen=True, slots=True)
class MeasureKind:
    """What a measure is, apart from its cut-off.

    Attributes:
        name: As printed.
        trec: trec_eval's name.
        cut: How a cut-off is applied: by trec_eval's measure `trec_cut`, from the rank behind a reciprocal rank, or not
            at all.
        trec_cut: trec_eval's name of the measure with a cut-off.
        needs_cutoff: Whether there is no form without one.
    """

    name: str
    trec: str
    cut: Literal["measure", "rank", "never"] = "measure"
    trec_cut: str = ""
    needs_cutoff: bool = False


KINDS = (
    MeasureKind("nDCG", "ndcg", trec_cut="ndcg_cut"),
    MeasureKind("MAP", "map", trec_cut="map_cut"),
    MeasureKind("MRR", "recip_rank", cut="rank"),
    MeasureKind("Recall", "recall", trec_cut="recall", needs_cutoff=True),
    MeasureKind("P", "P", trec_cut="P", needs_cutoff=True),
    MeasureKind("Success", "success", trec_cut="success", needs_cutoff=True),
    MeasureKind("Rprec", "Rprec", cut="never"),
)
"""nDCG takes gains linearly (Järvelin & Kekäläinen 2002 with log2(rank + 1), as BEIR does), not as 2^gain - 1."""

ROUNDING = 1e-9
"""Tolerance of a reciprocal rank times the cut-off around 1: less than one rank at the largest cut-off."""

BLOCK = 20_000
"""Results passed to trec_eval at a time."""

ALIASES = {"ap": "map", "rr": "mrr", "r": "recall", "precision": "p", "hit": "success"}


@dataclass(frozen=True, slots=True)
class Measure:
    """A measure and its cut-off; `str` gives the name `parse_measure` takes."""

    kind: MeasureKind
    cutoff: int | None = None

    def __str__(self) -> str:
        return self.kind.name if self.cutoff is None else f"{self.kind.name}@{self.cutoff}"

    @property
    def trec_name(self) -> str:
        """The measure in pytrec_eval's request, such as `ndcg_cut.10`; its answer has `_` for the stop."""
        if self.cutoff is None or self.kind.cut == "rank":
            return self.kind.trec
        return f"{self.kind.trec_cut}.{self.cutoff}"

    def value(self, answer: Mapping[str, float]) -> float:
        """Return a query's value out of what pytrec_eval answers for it; an empty answer is worth 0."""
        found = float(answer.get(self.trec_name.replace(".", "_"), 0.0))
        # The reciprocal rank of the first relevant document is 1 / rank, and counts where rank <= cut-off.
        beyond = self.kind.cut == "rank" and self.cutoff is not None and found * self.cutoff < 1 - ROUNDING
        return 0.0 if beyond else found


def parse_measure(text: str) -> Measure:
    """Return the measure a user named, such as `nDCG@10` or `map`, in any case.

    Args:
        text: Name, and `@` with a cut-off where there is one.

    Returns:
        The measure.

    Raises:
        InputError: If there is no such measure, or its cut-off is missing or not allowed.
    """
    match = re.fullmatch(r"([a-z]+)(?:@([1-9][0-9]{0,5}))?", text.strip().lower(), re.ASCII)
    name = ALIASES.get(match[1], match[1]) if match else ""
    kind = next((kind for kind in KINDS if kind.name.lower() == name), None)
    if match is None or kind is None:
        known = ", ".join(f"{kind.name}@10" if kind.needs_cutoff else kind.name for kind in KINDS)
        raise InputError(f"There is no measure {text!r}; name one such as nDCG@10 or one of: {known}.")
    cutoff = int(match[2]) if match[2] else None
    if cutoff is None and kind.needs_cutoff:
        raise InputError(f"{kind.name} needs a cut-off: {kind.name}@10, for example.")
    if cutoff is not None and kind.cut == "never":
        raise InputError(f"{kind.name} takes no cut-off: write {kind.name} alone.")
    return Measure(kind, cutoff)


@dataclass(frozen=True, slots=True)
class Scores:
    """How well a run did.

    Attributes:
        per_query: For each measure (as printed), the value of each judged query, in the order of the judgments.
        without_results: Judged queries without results in the run; they count 0.
        without_relevant: Judged queries none of whose documents is relevant; they count 0, as in trec_eval and BEIR.
        unjudged: Queries of the run that have no judgments; left out.
        same_id_dropped: Results taken out because they were the query itself.
        seen_dropped: Results taken out because they were judged in an earlier round.
    """

    per_query: Values
    without_results: int = 0
    without_relevant: int = 0
    unjudged: int = 0
    same_id_dropped: int = 0
    seen_dropped: int = 0

    @property
    def queries(self) -> int:
        """How many queries each mean is taken over."""
        return len(next(iter(self.per_query.values()), ()))

    @property
    def means(self) -> dict[str, float]:
        """The mean of each measure over all judged queries."""
        return {measure: fmean(values.values()) for measure, values in self.per_query.items()}

    def outcome(self, *, level: float = 0.95) -> Outcome:
        """Return the means with their intervals over queries, and the counts of what counts as 0 or is left out."""
        counts = {
            "queries": self.queries,
            "queries_without_results": self.without_results,
            "queries_without_relevant": self.without_relevant,
            "queries_unjudged": self.unjudged,
            "hits_of_same_id_dropped": self.same_id_dropped,
            "judged_before_dropped": self.seen_dropped,
        }
        return outcome_of(self.per_query, counts, level=level)


def evaluate(
    run: Run,
    qrels: Qrels,
    measures: Iterable[str],
    *,
    drop_same_id: bool = False,
    seen: Mapping[str, Set[str]] | None = None,
) -> Scores:
    """Measure a run against judgments.

    Args:
        run: The run.
        qrels: The judgments; each of its queries counts.
        measures: Names that `parse_measure` takes.
        drop_same_id: Remove results whose id is the query's, as BEIR does by default. This is right where queries are
            papers of the corpus, and wrong where both are only numbered from 1.
        seen: By query, documents to remove from the run, as `eval.trec.residual` returns them.

    Returns:
        Values per query, and what was counted as 0 or left out.

    Raises:
        InputError: If a measure is unknown, or no query of the run is judged.
        UnavailableError: If pytrec_eval isn't installed.
    """
    wanted = list(dict.fromkeys(parse_measure(name) for name in measures))
    require(
        run.rankings.keys() & qrels.gains.keys(),
        "No query of the run has judgments: the run and the judgments belong to different query sets.",
    )
    evaluator = _evaluator(qrels, wanted)
    answers: dict[str, dict[str, float]] = {}
    dropped = {"same_id": 0, "seen": 0, "everything": 0}
    for block in _blocks(run, qrels):
        for query, scores in block.items():
            if drop_same_id:
                dropped["same_id"] += scores.pop(query, None) is not None
            for document in scores.keys() & seen.get(query, ()) if seen else ():
                del scores[document]
                dropped["seen"] += 1
            dropped["everything"] += not scores
        answers |= evaluator.evaluate(block)
    # pytrec_eval leaves out a query whose judgments are an empty mapping; here it counts 0 like one without relevant.
    return Scores(
        per_query={
            str(measure): {query: measure.value(answers.get(query, {})) for query in qrels.gains} for measure in wanted
        },
        without_results=dropped["everything"],
        without_relevant=qrels.without_relevant,
        unjudged=len(run.rankings.keys() - qrels.gains.keys()),
        same_id_dropped=dropped["same_id"],
        seen_dropped=dropped["seen"],
    )


def _blocks(run: Run, qrels: Qrels) -> Iterator[dict[str, dict[str, float]]]:
    """Yield the results of the judged queries in batches, so that the largest run fits into memory."""
    block: dict[str, dict[str, float]] = {}
    hits = 0
    for query in qrels.gains:
        block[query] = run.scores(query)
        hits += len(block[query])
        if hits >= BLOCK:
            yield block
            block, hits = {}, 0
    yield block


def _evaluator(qrels: Qrels, measures: Sequence[Measure]) -> Any:
    names = {measure.trec_name for measure in measures}
    # pytrec_eval 0.5.11 sometimes hangs or crashes on gains below 0, with which trec_eval marks unpooled papers. Every
    # measure here treats them as 0.
    gains = {query: {paper: max(gain, 0) for paper, gain in judged.items()} for query, judged in qrels.gains.items()}
    return optional("pytrec_eval", "Measuring needs pytrec_eval").RelevanceEvaluator(gains, names)
