"""`ses eval retrieval`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import rich_click as click

from corpora.options import Option
from search_plugin.fusion.fusions import DEFAULT_FUSION, RANKED
from search_plugin.fusion.search_settings import read_search_settings
from search_plugin.request import MAX_WINDOW, Mode, RankingOptions
from ses.settings import Settings, load_settings
from ses.terminal.commands.eval.collection import DropSameId, Measures, open_collection
from ses.terminal.commands.eval.sources import ReportFile
from ses.terminal.options import described_options, engine_options, given_of, model_options, own_options, settings_of
from ses.terminal.page_options import ranking_options
from ses.terminal.progress import progress_on_stderr
from ses.terminal.results import say_json, tell_tables


@click.command()
@described_options(open_collection)
@own_options
@described_options(Settings, "tuned")
@click.option(
    "--run", "runs", type=click.Path(path_type=Path, file_okay=False), help="Folder for the TREC run files, one a mode."
)
@ranking_options
@model_options
@engine_options
def retrieval(
    *,
    modes: Annotated[
        Sequence[Literal[Mode, "exact"]],
        Option(
            "Mode of search; exact ranks all vectors in memory, and takes no option of a search",
            default_help="lexical, vector, hybrid",
            flag="mode",
        ),
    ] = (),
    fusions: Annotated[
        Sequence[str],
        Option(
            "Fusion of the hybrid mode",
            "NAME",
            choices="search_plugin.fusion.fusions:FUSIONS",
            others=f"{RANKED}@K with the rank constant K",
            default_help=DEFAULT_FUSION,
            flag="fusion",
        ),
    ] = (),
    depth: Annotated[
        int | None,
        Option(
            "Number of hits of a query and of each leg",
            default_help="100, or as deep as a measure looks",
            least=1,
            most=MAX_WINDOW,
        ),
    ] = None,
    measures: Measures = (),
    drop_same_id: DropSameId = False,
    report: ReportFile = None,
    runs: Path | None,
    as_json: bool,
    **options: Any,
) -> None:
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
    collection = open_collection(settings, **given_of(open_collection, options))
    tuned = read_search_settings(settings.tuned) if options["tuned"] and settings.tuned else None
    searched: list[Mode] = [mode for mode in modes if mode != "exact"]
    protocol = make_protocol(
        modes=searched,
        fusions=fusions,
        measures=measures,
        depth=depth,
        drop_same_id=drop_same_id,
        seen=collection.seen,
        tuned=tuned,
        options=given_of(RankingOptions, options),
    )
    if report:
        check_report(report)
    if runs:
        make_runs_folder(runs, collection.judged)
    indexed = None
    if searched or not modes:
        with progress_on_stderr() as progress:
            indexed = index_collection(collection, settings, progress)
    evaluation = evaluate_collection(collection, protocol, settings, indexed, exact=EXACT in modes)
    if report:
        seconds = seconds_of(collection, protocol, settings, indexed.index) if indexed else {}
        evaluation.write_report(report, f"Retrieval on {collection.name}", seconds)
    if as_json:
        say_json(evaluation.to_dict())
    else:
        tell_tables(evaluation.results.table(), left_out=evaluation.left_out)
    # Last, because an id that a TREC file can't hold must not discard the results.
    if runs:
        for mode in evaluation.systems:
            evaluation.write_run(runs / f"{mode}.trec", mode)
