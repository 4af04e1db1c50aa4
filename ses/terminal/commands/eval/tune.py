"""`ses eval tune`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import rich_click as click

from corpora.errors import InputError, require
from corpora.options import Option
from eval.files.text import write_lines
from search_plugin.fusion.search_settings import search_settings_json
from ses.settings import load_settings
from ses.terminal.commands.eval.collection import open_collection
from ses.terminal.options import described_options, engine_options, given_of, model_options, own_options, settings_of
from ses.terminal.progress import progress_on_stderr
from ses.terminal.results import say_json, tell, tell_tables


@click.command()
@described_options(open_collection)
@click.option(
    "--output",
    required=True,
    type=click.Path(path_type=Path, dir_okay=False),
    help="File for the settings, which `ses search --tuned` takes.",
)
@own_options
@model_options
@engine_options
def tune(
    *,
    output: Path,
    test_split: Annotated[str, Option("Also measure the settings on this split, not used to choose them", "NAME")] = "",
    measure: Annotated[str, Option("Name of the measure to maximize", "NAME")] = "nDCG@10",
    folds: Annotated[int, Option("Number of inner folds, and of outer folds", least=2, most=50)] = 5,
    bm25: Annotated[bool, Option("Also fit BM25's k1 and b, which only a cluster can set")] = False,
    seed: Annotated[int, Option("Seed of the folds")] = 0,
    as_json: bool,
    **options: Any,
) -> None:
    """Fit hybrid search on judged queries (give --split train or dev): title's boost, fusion, weights, rank constant.

    The estimate is by nested cross-validation: each query is measured with settings chosen by other queries. With
    --bm25, BM25's constants are fitted too; this closes the evaluation's index on the cluster for moments.
    """
    from eval.retrieval.tuning import Folds, check_measure
    from ses.evaluation.collection import index_collection
    from ses.evaluation.tuning import tune_search

    settings = load_settings(**settings_of(options))
    check_measure(measure)
    require(output.resolve().parent.is_dir(), f"There is no folder for {output}; make it, or give another --output.")
    given = given_of(open_collection, options)
    collection, test = open_collection(settings, **given), None
    if test_split:
        if not options["data"] or test_split == options["split"]:
            raise InputError("--test-split names another split of the BEIR folder of --data than --split does.")
        test = open_collection(settings, **{**given, "split": test_split})
    parted = Folds(folds, folds, seed)
    queries = len(collection.judged.qrels.gains)
    parted.check(queries)
    with progress_on_stderr() as progress:
        indexed = index_collection(collection, settings, progress)
    tell(f"trying settings on {queries:,} queries", err=True)
    tuned = tune_search(collection, indexed, measure, parted, bm25=bm25, test=test)
    write_lines(output, [search_settings_json(tuned.settings)])
    if as_json:
        say_json({**tuned.to_dict(), "output": str(output)})
        return
    tell_tables(tuned.results.table())
    tell(f"Chosen of {tuned.facts['tried']} settings: {tuned.settings}; written to {output}")
    tell(f"Chosen in the outer folds: {'; '.join(tuned.by_fold)}")
    tell_tables(left_out=tuned.left_out)
