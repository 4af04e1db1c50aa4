"""`ses eval models`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import rich_click as click

from corpora.errors import InputError
from corpora.options import Option
from corpora.registry import get_corpus
from ses.settings import load_settings
from ses.terminal.commands.eval.collection import open_collection
from ses.terminal.commands.eval.sources import ReportFile
from ses.terminal.options import described_options, engine_options, given_of, model_options, own_options, settings_of
from ses.terminal.progress import progress_on_stderr
from ses.terminal.results import say_json, tell, tell_tables

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ses.evaluation.collection import Collection
    from ses.settings import Settings


@click.command()
@described_options(open_collection)
@own_options
@model_options
@engine_options
def models(
    *,
    models: Annotated[
        str,
        Option(
            "Known names, folders or hub ids, with commas between",
            "LIST",
            default_help="the known models that are here",
        ),
    ] = "",
    queries: Annotated[
        Literal["judged", "pseudo", "titles"],
        Option(
            "Judged queries, or queries made of the papers: pseudo takes the concluding sentence of an abstract, "
            "titles the title; that part is taken out of all papers"
        ),
    ] = "judged",
    most_queries: Annotated[int, Option("Most queries made of papers", least=2)] = 300,
    most_papers: Annotated[int, Option("Most papers to search where queries are made of papers", least=2)] = 5_000,
    measure: Annotated[str, Option("Name of the measure", "NAME")] = "nDCG@10",
    report: ReportFile = None,
    as_json: bool,
    **options: Any,
) -> None:
    """Compare models on your own papers, and say which to take.

    Each model's index is built (or brought up to date) and searched, by vectors alone and by words and vectors
    together. --model is the baseline; it is the default model if it is not given. For queries that are made of papers,
    name the papers by --data, or by --corpus and --path.
    """
    from eval.reports.forms import check_report
    from ses.evaluation.models import compare_on

    settings = load_settings(**settings_of(options))
    if report:
        check_report(report)
    if queries == "judged":
        collection = open_collection(settings, **given_of(open_collection, options))
    else:
        collection = _pseudo(queries, {"queries": most_queries, "papers": most_papers}, options, settings)
    wanted = [name.strip() for name in models.split(",") if name.strip()]
    with progress_on_stderr() as progress:
        found = compare_on(collection, wanted, settings, measure, progress)
    if report:
        found.write_report(report)
    if as_json:
        say_json(found.to_dict())
        return
    tell_tables(*found.tables(), left_out=found.evaluation.left_out)
    tell()
    tell(found.advice)


def _pseudo(
    queries: Literal["pseudo", "titles"], most: Mapping[str, int], options: Mapping[str, Any], settings: Settings
) -> Collection:
    """Return the collection of queries that are made of papers, and the most of each."""
    from ses.evaluation.collection import pseudo_collection
    from ses.papers import located

    if options["topics"] or options["qrels"] or options["rounds"]:
        raise InputError("Queries made of papers need no --topics, --qrels or --rounds; leave them out.")
    if bool(options["data"]) == bool(options["corpus"]):
        raise InputError("Say of which papers to make queries: either --data DIR, or --corpus NAME with --path.")
    corpus, paths = "beir", [Path(options["data"] or "")]
    if options["corpus"]:
        reader = get_corpus(options["corpus"])
        corpus, paths = reader.name, list(options["paths"]) or [located(reader, settings.data_dir)]
    return pseudo_collection(corpus, paths, queries, settings, **most)
