"""`ses eval retrieval`."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

import rich_click as click

from search_plugin.fusion.fusions import DEFAULT_FUSION, FUSIONS, RANKED
from search_plugin.fusion.search_settings import read_search_settings
from search_plugin.request import MAX_WINDOW, Mode, RankingOptions
from ses.settings import Settings, load_settings
from ses.terminal.commands.eval.collection import (
    collection_options,
    drop_same_id_option,
    measures_option,
    open_collection,
)
from ses.terminal.options import PATH, described_options, engine_options, given_of, model_options, settings_of
from ses.terminal.page_options import ranking_options
from ses.terminal.progress import progress_on_stderr
from ses.terminal.results import say_json, tell_tables


@click.command()
@collection_options
@click.option(
    "--mode",
    "modes",
    multiple=True,
    type=click.Choice([*get_args(Mode), "exact"]),
    help="Mode of search; repeatable. exact ranks all vectors in memory, and takes no option of a search "
    "[default: lexical, vector, hybrid].",
)
@click.option(
    "--fusion",
    "fusions",
    multiple=True,
    metavar="NAME",
    help=f"Fusion of the hybrid mode; repeatable: {', '.join(FUSIONS)}, or {RANKED}@K with the rank constant K "
    f"[default: {DEFAULT_FUSION}].",
)
@described_options(Settings, "tuned")
@click.option(
    "--depth",
    type=click.IntRange(1, MAX_WINDOW),
    metavar="N",
    help="Number of hits of a query and of each leg [default: 100, or as deep as a measure looks].",
)
@measures_option
@click.option(
    "--run", "runs", type=click.Path(path_type=Path, file_okay=False), help="Folder for the TREC run files, one a mode."
)
@drop_same_id_option
@ranking_options
@click.option("--report", "file", type=PATH, help="File to write: .md, .html with plots, .tex or .json.")
@model_options
@engine_options
def retrieval(*, runs: Path | None, file: Path | None, as_json: bool, **options: Any) -> None:
    """Index a collection (or bring its index up to date), run its judged queries and score them.

    Queries are searched as ses search does with the same options, whatever the settings say of tuned values and
    synonyms.
    Measures are computed by trec_eval's code, with 95 % confidence intervals over queries.
    """
    from eval.reports.forms import check_report
    from eval.retrieval.protocol import make_protocol
    from ses.evaluation.collection import index_collection
    from ses.evaluation.retrieval import EXACT, evaluate_collection, make_runs_folder, seconds_of

    settings = load_settings(**settings_of(options))
    # Check the options first, because the evaluation may take hours.
    collection = open_collection(options, settings)
    tuned = read_search_settings(settings.tuned) if options["tuned"] and settings.tuned else None
    named = {name: options[name] for name in ("fusions", "measures", "depth", "drop_same_id")}
    searched = [mode for mode in options["modes"] if mode != EXACT]
    given = given_of(RankingOptions, options)
    protocol = make_protocol(modes=searched, seen=collection.seen, tuned=tuned, options=given, **named)
    if file:
        check_report(file)
    if runs:
        make_runs_folder(runs, collection.judged)
    indexed = None
    if searched or not options["modes"]:
        with progress_on_stderr() as progress:
            indexed = index_collection(collection, settings, progress)
    evaluation = evaluate_collection(collection, protocol, settings, indexed, exact=EXACT in options["modes"])
    if file:
        seconds = seconds_of(collection, protocol, settings, indexed.index) if indexed else {}
        evaluation.write_report(file, f"Retrieval on {collection.name}", seconds)
    if as_json:
        say_json(evaluation.to_dict())
    else:
        tell_tables(evaluation.results.table(), left_out=evaluation.left_out)
    # Last, because an id that a TREC file can't hold must not discard the results.
    if runs:
        for mode in evaluation.systems:
            evaluation.write_run(runs / f"{mode}.trec", mode)
