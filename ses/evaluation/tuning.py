"""Settings of hybrid search fitted on the judged queries of a collection."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from eval.outcome import outcome_of
from eval.reports.results import Results
from eval.retrieval.tuning import Folds, Trials, fit, stages, start
from search_plugin.contract.plan import LEXICAL
from search_plugin.contract.schema import SEARCHED
from search_plugin.fusion.search_settings import SearchSettings
from ses.evaluation.collection import Collection, IndexedCollection


@dataclass(frozen=True, slots=True)
class Tuned:
    """What tuning found.

    Attributes:
        settings: The settings that all queries choose, with the facts about them.
        results: The measure under the default settings and the estimate for the chosen ones; on the test queries too.
        facts: How the settings were chosen.
        by_fold: Settings that the other folds chose, for each outer fold.
        left_out: Number of documents that were rejected, and of those that came twice.
    """

    settings: SearchSettings
    results: Results
    facts: Mapping[str, Any]
    by_fold: tuple[str, ...]
    left_out: Mapping[str, int]

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values, ready for JSON."""
        chosen = asdict(replace(self.settings, fitted={}))
        return {**self.facts, **chosen, "left_out": dict(self.left_out), "by_fold": list(self.by_fold)}


def tune_search(
    collection: Collection,
    indexed: IndexedCollection,
    measure: str,
    folds: Folds,
    *,
    bm25: bool = False,
    test: Collection | None = None,
) -> Tuned:
    """Fit the title's boost, fusion, weights and rank constant; nested cross-validation estimates what this is worth.

    Nobody else can search the collection's index while constants of BM25 are tried, which only a cluster can set. The
    settings are also measured on the queries of `test`, which are not used to choose.
    """
    index, encoder = indexed.index, indexed.load()
    trials = Trials(collection.judged, index, encoder, measure, collection.seen)
    legs = (LEXICAL, SEARCHED)
    untuned, queries = start(legs), list(collection.judged.qrels.gains)
    fitted = fit(untuned, stages(legs, bm25=bm25), trials, queries, folds)
    columns = {"default": fitted.default, "tuned, by nested cross-validation": fitted.estimate}
    if test:
        unseen = Trials(test.judged, index, encoder, measure)
        for label, point in (("default on", untuned), ("tuned on", fitted.chosen)):
            values = zip(test.judged.qrels.gains, unseen(point).tolist(), strict=True)
            columns[f"{label} {test.facts['split']}"] = dict(values)
    outcomes = {label: outcome_of({measure: of}, {"queries": len(of)}) for label, of in columns.items()}
    results = Results("settings", outcomes)
    facts = {
        **collection.facts,
        "model": index.schema.model,
        "fingerprint": index.schema.fingerprint,
        "measure": measure,
        "queries": len(queries),
        "tried": trials.count,
        "folds": folds.outer,
        "seed": folds.seed,
        "results": results.as_dict()["rows"],
    }
    return Tuned(replace(fitted.chosen, fitted=facts), results, facts, tuple(map(str, fitted.by_fold)), indexed.counts)
