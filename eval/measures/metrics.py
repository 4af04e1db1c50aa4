"""Measures of ranked retrieval by the names of ir_measures, which computes them by trec_eval's own code and others'."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from corpora.errors import InputError, UnavailableError, require
from corpora.installed import optional
from eval.outcome import Outcome
from eval.statistics.interval import UNIT, Values, mean_interval
from eval.trec.judgments import Qrels
from eval.trec.runs import Run, trec_order

MEASURES = ("nDCG@10", "MAP", "Recall@100", "MRR@10")
"""Measures of retrieval where none are named. nDCG takes gains linearly (Järvelin & Kekäläinen 2002 with
log2(rank + 1), as BEIR does), not as 2^gain - 1."""

ROUNDING = 1e-9
"""Tolerance of a reciprocal rank times the cut-off around 1: less than one rank at the largest cut-off."""

BLOCK = 20_000
"""Results that are measured at a time."""

_FORM = re.compile(r"(?P<name>\w+)(?:\((?P<parameters>.*)\))?(?:@(?P<at>[1-9]\d{0,5}|[01]?\.\d{1,6}))?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Measure:
    """A measure.

    Attributes:
        name: Name as the user asked for it, in the spelling of ir_measures: `MAP` and `AP` are the same measure.
        definition: The measure of ir_measures.
        cutoff: Rank at which it cuts, or 0 if it has none.
    """

    name: str
    definition: Any
    cutoff: int = 0

    def __str__(self) -> str:
        return self.name

    @property
    def computed(self) -> Any:
        """The measure that a library computes: of a reciprocal rank that is cut, the whole one.

        ir_measures cuts reciprocal ranks in Python, which takes longer than all other measures together.
        """
        if self.definition.NAME != "RR":
            return self.definition
        return type(self.definition)(**{name: of for name, of in self.definition.params.items() if name != "cutoff"})

    def value(self, found: float) -> float:
        """Return a query's value of the measure from that of `computed`."""
        # The reciprocal rank of the first relevant document is 1 / rank, and counts where rank <= cut-off.
        beyond = self.definition.NAME == "RR" and self.cutoff and found * self.cutoff < 1 - ROUNDING
        return 0.0 if beyond else found


def parse_measure(text: str) -> Measure:
    """Return the measure a user named, such as `nDCG@10`, `map` or `P(rel=2)@5`, in any case.

    The name is one of ir_measures, with parameters in parentheses, and `@` with a cut-off, where there are any. Raises
    `InputError` if there is no such measure, or its cut-off or a parameter is missing or not allowed, and
    `UnavailableError` if ir_measures or the library that computes the measure isn't installed.
    """
    registry = _library().measures.registry
    match = _FORM.fullmatch(text.strip())
    # Of the spellings nDCG and NDCG, the first is the measure's own.
    same = [name for name in registry if match and name.casefold() == match["name"].casefold()]
    if match is None or not same:
        known = ", ".join(dict.fromkeys(one.__name__ for one in registry.values()))
        raise InputError(f"There is no measure {text!r}; name one such as nDCG@10 or one of: {known}.")
    name = next((one for one in same if one == match["name"] or one == registry[one].__name__), same[0])
    definition = _defined(registry[name], name, match)
    shown = name + repr(definition).removeprefix(definition.__name__)
    measure = Measure(shown, definition, definition.params.get("cutoff", 0))
    _check_provider(measure)
    return measure


def _defined(measure: Any, name: str, match: re.Match[str]) -> Any:
    """Return the measure with its parameters and its cut-off."""
    at, takes = match["at"], measure.SUPPORTED_PARAMS.get(measure.AT_PARAM)
    if at and takes is None:
        raise InputError(f"{name} takes no cut-off: write {name} alone.")
    if not at and takes is not None and takes.required:
        raise InputError(f"{name} needs a cut-off: {name}@{'10' if takes.dtype is int else '0.1'}, for example.")
    try:
        # ir_measures' own parser needs parts of `ast` that Python 3.14 no longer has.
        call: Any = ast.parse(f"measure({match['parameters'] or ''})", mode="eval").body
        given = {one.arg: ast.literal_eval(one.value) for one in call.keywords}
        if at:
            given[measure.AT_PARAM] = float(at) if "." in at else int(at)
        definition = measure(**given)
        definition.validate_params()
    except (AssertionError, AttributeError, SyntaxError, TypeError, ValueError) as error:
        takes_all = ", ".join(measure.SUPPORTED_PARAMS) or "none"
        raise InputError(
            f"{name} can't have the parameters ({match['parameters'] or ''}): {error}; its parameters are: {takes_all}."
        ) from None
    return definition


def _check_provider(measure: Measure) -> None:
    """Raise `UnavailableError` if the library that computes a measure isn't installed."""
    providers = [one for one in _library().DefaultPipeline.providers if one.supports(measure.computed)]
    known = ", ".join(measure.definition.SUPPORTED_PARAMS)
    require(providers, f"No library computes {measure} with these parameters; its parameters are: {known}.")
    if not any(one.is_available() for one in providers):
        install = " or ".join(f"`{one.install_instructions()}`" for one in providers if one.install_instructions())
        raise UnavailableError(f"{measure} is computed by {providers[0].NAME}, which isn't installed", f"run {install}")


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
        cells = {}
        for measure, values in self.per_query.items():
            # Measures that count, such as NumRet, have no known scale.
            scale = UNIT if min(values.values()) >= 0 and max(values.values()) <= 1 else None
            cells[measure] = mean_interval(tuple(values.values()), scale=scale, level=level)
        return Outcome(cells, self.per_query, counts)


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
        seen: Documents by query, to remove from the run, as `eval.trec.judgments` returns them.

    Returns:
        The scores.

    Raises:
        InputError: If a measure is unknown, or no query of the run is judged.
        UnavailableError: If ir_measures or the library that computes a measure isn't installed.
    """
    wanted = list(dict.fromkeys(parse_measure(name) for name in measures))
    require(
        run.rankings.keys() & qrels.gains.keys(),
        "No query of the run has judgments: the run and the judgments belong to different query sets.",
    )
    computed = list(dict.fromkeys(measure.computed for measure in wanted))
    values: dict[Any, dict[str, float]] = {one: {} for one in computed}
    dropped = {"same_id": 0, "seen": 0, "everything": 0}
    for block in _blocks(run, qrels):
        for query, scores in block.items():
            if drop_same_id:
                dropped["same_id"] += scores.pop(query, None) is not None
            for document in scores.keys() & seen.get(query, ()) if seen else ():
                del scores[document]
                dropped["seen"] += 1
            dropped["everything"] += not scores
        for metric in _measured(block, qrels, computed):
            values[metric.measure][metric.query_id] = float(metric.value)
    found = {measure: values[measure.computed] for measure in wanted}
    return Scores(
        per_query={
            str(measure): {query: measure.value(of[query]) for query in qrels.gains} for measure, of in found.items()
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


def _measured(block: Mapping[str, Mapping[str, float]], qrels: Qrels, measures: Sequence[Any]) -> Iterator[Any]:
    """Yield the value of each query of a block by each measure; 0 where a query has no judgments or no results."""
    library = _library()
    trec = [one for one in measures if library.pytrec_eval.supports(one)]
    if trec:
        # pytrec_eval crashes on an empty ranking, and on a query with negative judgments only.
        ranked = {query: scores for query, scores in block.items() if scores}
        gains = {query: _with_one_judged(qrels.gains[query]) for query in ranked}
        yield from library.pytrec_eval.evaluator(trec, gains).iter_calc(ranked) if ranked else ()
        for query in block.keys() - ranked.keys():
            yield from (library.Metric(query, one, _without_results(one, qrels.gains[query])) for one in trec)
    for one in (one for one in measures if one.NAME == "Accuracy"):
        for query, scores in block.items():
            ranking = [document for document, _ in trec_order(query, list(scores.items()))]
            yield library.Metric(query, one, _accuracy(one, ranking, qrels.gains[query]))
    if others := [one for one in measures if one not in trec and one.NAME != "Accuracy"]:
        numbers = {query: str(number) for number, query in enumerate(block)}  # gdeval takes no other ids of queries
        judgments = [
            library.Qrel(numbers[query], document, gain, qrels.iterations.get(query, {}).get(document, "0"))
            for query in block
            for document, gain in qrels.gains[query].items()
        ]
        # Other libraries order ties in other ways: so ranks in trec_eval's order stand for the scores.
        results = [
            library.ScoredDoc(numbers[query], document, float(-rank))
            for query, scores in block.items()
            for rank, (document, _) in enumerate(trec_order(query, list(scores.items())))
        ]
        metrics = library.DefaultPipeline.evaluator(others, judgments).iter_calc(results)
        found = {(one.measure, one.query_id): one.value for one in metrics}
        for query, number in numbers.items():
            yield from (library.Metric(query, one, found.get((one, number), one.DEFAULT)) for one in others)


def _with_one_judged(gains: Mapping[str, int]) -> Mapping[str, int]:
    """Return judgments with 0 for negative ones if there are no others; no measure is above 0 for such a query.

    Elsewhere -1 is not 0: to Bpref and infAP the paper is unjudged, as trec_eval has it.
    """
    return gains if max(gains.values(), default=0) >= 0 else dict.fromkeys(gains, 0)


def _without_results(measure: Any, gains: Mapping[str, int]) -> float:
    """Return the value of a query without results, as `trec_eval -c` counts it: 0, except where it counts judgments."""
    counts = {"NumQ": 1, "NumRel": sum(gain >= measure.params.get("rel", 1) for gain in gains.values())}
    return float(counts.get(measure.NAME, 0))


def _accuracy(measure: Any, ranking: Sequence[str], gains: Mapping[str, int]) -> float:
    """Return the share of pairs of a relevant and another retrieved paper that are in the right order.

    It is 1 without another paper, where ir_measures divides by zero, and 0 without a relevant one.
    """
    relevant = [
        gains.get(document, 0) >= measure.params.get("rel", 1) for document in ranking[: measure.params.get("cutoff")]
    ]
    good, bad = sum(relevant), len(relevant) - sum(relevant)
    wrong = sum(relevant[:rank].count(False) for rank, one in enumerate(relevant) if one)
    return 0.0 if not good else 1 - wrong / (good * bad) if bad else 1.0


def _library() -> Any:
    return optional("ir_measures", "Measuring needs ir_measures", "eval")
