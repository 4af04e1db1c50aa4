"""`ses eval tune`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import rich_click as click

from corpora.errors import InputError, require
from search_plugin.contract.plan import LEXICAL
from search_plugin.ranking.planning import SEARCHED
from ses.terminal.commands.eval.collection import collection_options, indexed, open_collection
from ses.terminal.options import engine_options, model_options
from ses.terminal.results import say_json, tell


@click.command()
@collection_options
@click.option(
    "--output",
    required=True,
    type=click.Path(path_type=Path, dir_okay=False),
    help="File for the settings, which `ses search --tuned` takes.",
)
@click.option("--test-split", metavar="NAME", help="Also measure the settings on this split, not used to choose them.")
@click.option("--measure", default="nDCG@10", show_default=True, metavar="NAME", help="What to maximize.")
@click.option("--folds", default=5, show_default=True, type=click.IntRange(2, 50), help="Inner and outer.")
@click.option("--bm25", is_flag=True, help="Also fit BM25's k1 and b, which only a cluster can set.")
@click.option("--seed", default=0, show_default=True, help="Of the folds.")
@model_options
@engine_options
def tune(
    output: Path,
    test_split: str | None,
    measure: str,
    folds: int,
    bm25: bool,  # noqa: FBT001 - click passes flags so
    seed: int,
    as_json: bool,  # noqa: FBT001 - click passes flags so
    **options: Any,
) -> None:
    """Fit hybrid search on judged queries (give --split train or dev): title's boost, fusion, weights, rank constant.

    The estimate is by nested cross-validation: each query is measured with settings chosen by other queries. With
    --bm25, BM25's constants are fitted too; this closes the evaluation's index on the cluster for moments.
    """
    from rich.console import Console

    from eval.files.text import write_lines
    from eval.outcome import outcome_of
    from eval.reports.results import Results
    from eval.reports.tables import counted, print_table
    from eval.retrieval.stages import stages, start
    from eval.retrieval.trials import Trials, check_measure
    from eval.retrieval.tuning import Folds, fit
    from search_plugin.fusion.search_settings import search_settings_json
    from ses.settings import load_settings
    from ses.terminal.arguments import settings_of

    settings = load_settings(**settings_of(options))
    check_measure(measure)
    require(output.resolve().parent.is_dir(), f"There is no folder for {output}; make it, or give another --output.")
    collection = open_collection(options, settings)
    test = _test_collection(options, settings, test_split)
    parted = Folds(folds, folds, seed)
    parted.check(len(collection.judged.qrels.gains))
    index, encoder, counts = indexed(collection, settings)
    trials = Trials(collection.judged, index, encoder, measure, collection.seen)
    legs = (LEXICAL, SEARCHED)
    untuned, queries = start(legs), list(collection.judged.qrels.gains)
    tell(f"trying settings on {len(queries):,} queries", err=True)
    fitted = fit(untuned, stages(legs, bm25=bm25), trials, queries, parted)
    columns = {"default": fitted.default, "tuned, by nested cross-validation": fitted.estimate}
    if test:
        unseen = Trials(test.judged, index, encoder, measure)
        for label, point in (("default on", untuned), ("tuned on", fitted.chosen)):
            of_test = zip(test.judged.qrels.gains, unseen(point).tolist(), strict=True)
            columns[f"{label} {test_split}"] = dict(of_test)
    outcomes = {label: outcome_of({measure: of}, {"queries": len(of)}) for label, of in columns.items()}
    results = Results("settings", outcomes)
    facts = {
        **collection.told,
        "model": index.schema.model,
        "fingerprint": index.schema.fingerprint,
        "measure": measure,
        "queries": len(queries),
        "tried": trials.count,
        "folds": folds,
        "seed": seed,
        "results": results.as_dict()["rows"],
    }
    tuned = replace(fitted.chosen, fitted=facts)
    write_lines(output, [search_settings_json(tuned)])
    by_fold = list(map(str, fitted.by_fold))
    if as_json:
        told = {**facts, **asdict(fitted.chosen), "output": str(output), "left_out": counts, "by_fold": by_fold}
        say_json(told)
        return
    print_table(results.table(), Console())
    tell(f"Chosen of {trials.count} settings: {fitted.chosen}; written to {output}")
    tell(f"Chosen in the outer folds: {'; '.join(by_fold)}")
    for what, count in counts.items():
        if count:
            tell(counted(count, what))


def _test_collection(options: Mapping[str, Any], settings: Any, split: str | None) -> Any:
    if split is None:
        return None
    if not options["data"] or split == options["split"]:
        raise InputError("--test-split names another split of the BEIR folder of --data than --split does.")
    return open_collection({**options, "split": split}, settings)
