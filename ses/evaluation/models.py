"""Several models on the same queries: how well they rank, what a paper costs, and which to take."""

from __future__ import annotations

import functools
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from corpora.errors import InputError
from corpora.outgoing import aligned
from corpora.paper import Accepted
from eval.outcome import Outcome
from eval.reports.report import TextTable, gather_provenance
from eval.reports.results import Results
from ses.argument_validation import checked, checked_methods
from ses.evaluation.collection import beir_collection, index_collection, pseudo_collection
from ses.evaluation.result import Evaluation
from ses.evaluation.retrieval import encoder_of, evaluate_collection, model_of
from ses.settings import load_settings

if TYPE_CHECKING:
    from corpora.progress import Progress
    from encoders.text_encoder import TextEncoder
    from eval.statistics.pairs import Pair
    from ses.evaluation.collection import Collection
    from ses.settings import Settings

Queries = Literal["judged", "pseudo", "titles"]
"""Judged ones, or made of papers: of their concluding sentences, or of their titles."""

TIMED = 48
"""Papers that are timed."""

_WARMING = 8
_CERTAIN = 0.05
"""The largest p-value, corrected by Holm, of a difference beyond doubt."""


@dataclass(frozen=True, slots=True)
class ModelCost:
    """What a model costs.

    Attributes:
        milliseconds: To encode a paper, the mean over some papers in batches, without a cache.
        parameters: Number of weights; 0 if unknown.
        dimension: Length of a vector.
    """

    milliseconds: float
    parameters: int
    dimension: int


@checked_methods
@dataclass(frozen=True, eq=False, repr=False)
class ModelComparison:
    """What comparing models found; printed as tables, with the advice last.

    Attributes:
        evaluation: Measures of each model by vectors alone and by hybrid search, and tests of their differences.
        costs: What each model costs.
        baseline: The model that the others are compared with.
        measure: The measure of hybrid search that decides.

    Example:
        >>> found = ses.compare_models("judged", ["other"], model="model")
        >>> found.best, found.costs["other"].dimension
        ('model', 64)
    """

    evaluation: Evaluation
    costs: Mapping[str, ModelCost]
    baseline: str
    measure: str

    @property
    def best(self) -> str:
        """The model to take.

        The fastest of the models that are better than the baseline beyond doubt and that none of these beats beyond
        doubt; the baseline if there is none. A difference is beyond doubt if its 95 % interval does not hold 0, and its
        p-value (paired randomization, corrected by Holm over all comparisons) is below .05.
        """
        better = [one for one in self.costs if one != self.baseline and self._beats(one, self.baseline)]
        unbeaten = [one for one in better if not any(self._beats(other, one) for other in better if other != one)]
        return min(unbeaten, key=lambda one: self.costs[one].milliseconds, default=self.baseline)

    @property
    def advice(self) -> str:
        """Which model to take, in a line."""
        taken, count = self.best, len(next(iter(self.evaluation.per_query.values()))[self.measure])
        if taken == self.baseline:
            return f"None is better than {taken} beyond doubt on these {count:,} queries: keep it."
        difference = self._difference(taken, self.baseline)
        times = self.costs[taken].milliseconds / self.costs[self.baseline].milliseconds
        interval = f"{difference.mean:+.3f} [{difference.low:+.3f}, {difference.high:+.3f}]"
        return (
            f"Take {taken}: its {self.measure} is {interval} against {self.baseline}, and a paper takes {times:.1f} "
            "times as long."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values, ready for JSON."""
        return {
            **self.evaluation.to_dict(),
            "baseline": self.baseline,
            "costs": {name: asdict(cost) for name, cost in self.costs.items()},
            "pairs": [pair.as_dict() for pair in self.evaluation.pairs],
            "best": self.best,
            "advice": self.advice,
        }

    def tables(self) -> tuple[TextTable, ...]:
        """Return what is printed: the models, and the differences of pairs."""
        first, *others = self.evaluation.tables()
        costs = [self.costs[row[0]] for row in first.rows]
        cells = [(f"{one.milliseconds:.1f}", _millions(one.parameters), f"{one.dimension:,}") for one in costs]
        rows = tuple((*row, *more) for row, more in zip(first.rows, cells, strict=True))
        notes = (*first.notes[:1], "ms a paper: to encode it on this machine, in batches, without a cache")
        return (TextTable("Models", (*first.header, "ms a paper", "parameters", "numbers"), rows, notes=notes), *others)

    def write_report(self, path: Path) -> None:
        """Write a report of the measures; arguments and errors as of `Evaluation.write_report`."""
        seconds = {name: cost.milliseconds / 1_000 for name, cost in self.costs.items()}
        self.evaluation.write_report(path, "Models", seconds)

    def __str__(self) -> str:
        blocks = ["\n".join([*aligned([table.header, *table.rows]), *table.notes]) for table in self.tables()]
        return "\n\n".join([*blocks, self.advice])

    def __repr__(self) -> str:
        return str(self)  # so that a notebook shows the tables

    def _beats(self, one: str, other: str) -> bool:
        """Return whether a model is better than another beyond doubt."""
        pair = self._pair(one, other)
        return self._difference(one, other).low > 0 and pair.p_randomization_holm < _CERTAIN

    def _difference(self, one: str, other: str) -> Any:
        pair = self._pair(one, other)
        found = pair.difference
        return found if pair.run == one else type(found)(-found.high, -found.mean, -found.low)

    def _pair(self, one: str, other: str) -> Pair:
        return next(
            pair
            for pair in self.evaluation.pairs
            if pair.measure == self.measure and {pair.run, pair.baseline} == {one, other}
        )


@checked
def compare_models(
    data: str | Path,
    models: Sequence[str] = (),
    *,
    queries: Queries = "judged",
    split: str = "test",
    corpus: str = "beir",
    measure: str = "nDCG@10",
    **settings: Any,
) -> ModelComparison:
    """Compare models on your own papers.

    Args:
        data: A folder in BEIR's form, or `irds:ID` of ir_datasets; for queries made of papers, a file or folder of
            any corpus.
        models: Known names, folders or hub ids to compare with the model of the settings; if none, the known models
            on this machine.
        queries: `judged` ones; or made of the papers: `pseudo` of concluding sentences, `titles` of titles.
        split: Name of the judgments in a BEIR folder.
        corpus: Name of the papers' reader, for queries made of papers.
        measure: Measure to compare by.
        **settings: Such as `model`, `engine` or `runtime`; they override `SES_*` and `ses.toml`.

    Returns:
        The comparison; `print` shows it.

    Raises:
        InputError: If the data, a model or a setting can't be used.
        UnavailableError: If a model can't be fetched, or the engine isn't there.

    Example:
        >>> found = ses.compare_models("judged", ["other"], model="model")
        >>> print(found.advice)
        None is better than model beyond doubt on these 2 queries: keep it.
    """
    in_force = load_settings(**settings)
    collection = (
        beir_collection(str(data), split, in_force)
        if queries == "judged"
        else pseudo_collection(corpus, [Path(data)], queries, in_force)
    )
    return compare_on(collection, models, in_force, measure)


def compare_on(
    collection: Collection,
    models: Sequence[str],
    settings: Settings,
    measure: str = "nDCG@10",
    progress: Progress | None = None,
) -> ModelComparison:
    """Index a collection by each model, search its judged queries, and compare; the settings' model is the baseline."""
    from eval.retrieval.protocol import make_protocol
    from ses.models.model_facts import count_parameters

    protocol = make_protocol(modes=("vector", "hybrid"), measures=(measure,), seen=collection.seen)
    (column,) = protocol.measures
    names = _names(models, settings)
    # All are found before the first is used, which may take hours.
    found = {name: model_of(replace(settings, model=name)) for name in names}
    outcomes, runs, costs, left_out = {}, {}, {}, dict[str, int]()
    for name, model in found.items():
        own = replace(settings, model=name)
        indexed = index_collection(collection, own, progress)
        one = evaluate_collection(collection, protocol, own, indexed)
        by_mode = one.results.outcomes
        outcomes[name] = Outcome(
            {f"{mode} {column}": of.cells[column] for mode, of in by_mode.items()},
            {f"{mode} {column}": of.per_unit[column] for mode, of in by_mode.items()},
            by_mode["hybrid"].counts,
        )
        runs[name], left_out = one.runs["hybrid"], dict(one.left_out)
        costs[name] = ModelCost(_milliseconds(collection, own), count_parameters(model), model.card.dimension)
    cards = [model.card for model in found.values()]
    gather = functools.partial(gather_provenance, data=collection.files, cards=cards, settings=collection.facts)
    evaluation = Evaluation(
        Results("model", outcomes), runs, collection.judged.texts, left_out, dict(collection.facts), gather
    )
    return ModelComparison(evaluation, costs, names[0], f"hybrid {column}")


def _names(models: Sequence[str], settings: Settings) -> list[str]:
    """Return the models to compare, the baseline first."""
    from encoders.models.known import KNOWN_MODELS
    from encoders.registry import find_model, is_here

    baseline = settings.model_name
    if not models:
        model = find_model(baseline)
        same = (model.base or model).card.fingerprint  # adapters mostly leave the vectors that searches use
        here = [name for name, known in KNOWN_MODELS.items() if is_here(name) and not known.same_as]
        models = [name for name in here if find_model(name).card.fingerprint != same]
    names = list(dict.fromkeys([baseline, *models]))
    if len(names) < 2:
        raise InputError(
            f"There is no model here to compare with {baseline}",
            "name some as <models>, such as bge-small-en-v1.5, which is fetched from the hub",
        )
    return names


def _milliseconds(collection: Collection, settings: Settings) -> float:
    """Return the time to encode a paper in batches: the mean over some papers, without the cache."""
    from itertools import islice

    encoder = encoder_of(replace(settings, embedding_cache=False))
    records = (one.paper for one in collection.records() if isinstance(one, Accepted))
    texts = [encoder.card.text(paper.title, paper.abstract) for paper in islice(records, TIMED)]
    return seconds_of(encoder, texts) / max(1, len(texts)) * 1_000


def seconds_of(encoder: TextEncoder, texts: Sequence[str]) -> float:
    """Return the seconds to encode texts as papers, after a few that are not timed."""
    encoder.encode(list(texts[:_WARMING]))
    begun = time.perf_counter()
    encoder.encode(list(texts))
    return time.perf_counter() - begun


def _millions(count: int) -> str:
    return f"{count / 1e6:,.0f} M" if count else "?"
