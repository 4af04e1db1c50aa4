"""`ses eval`."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import rich_click as click

from corpora.errors import InputError
from search_plugin.fusion.registry import DEFAULT_FUSION, FUSIONS, get_fusion
from search_plugin.request import Mode
from ses.options import engine_options, model_options

if TYPE_CHECKING:
    from encoders.encoder import TextEncoder
    from eval.beir import BeirFolder
    from search_plugin.engines.base import Index
    from ses.settings import Settings


@click.group("eval")
def eval_() -> None:
    """Measure how well search works."""


@eval_.command()
@click.option(
    "--data",
    required=True,
    type=click.Path(path_type=Path),
    help="A folder in BEIR's form: corpus.jsonl, queries.jsonl, qrels/.",
)
@click.option("--split", default="test", show_default=True, help="Which judgments.")
@click.option(
    "--mode", "modes", multiple=True, type=click.Choice(get_args(Mode)), help="Repeatable [default: all three]."
)
@click.option(
    "--fusion",
    default=DEFAULT_FUSION,
    show_default=True,
    metavar="NAME",
    help=f"Of the hybrid mode: {', '.join(FUSIONS)}.",
)
@click.option(
    "--run", "runs", type=click.Path(path_type=Path, file_okay=False), help="Folder for the TREC run files, one a mode."
)
@click.option(
    "--drop-same-id", is_flag=True, help="Leave out hits whose id is the query's, where queries are papers themselves."
)
@model_options
@engine_options
def retrieval(
    data: Path,
    split: str,
    modes: tuple[Mode, ...],
    fusion: str,
    runs: Path | None,
    drop_same_id: bool,  # noqa: FBT001 - click passes flags so
    as_json: bool,  # noqa: FBT001
    **flags: Any,
) -> None:
    """Index a BEIR folder (or bring its index up to date), run its judged queries and score them.

    Prints nDCG@10, MAP, Recall@100 and MRR@10 by trec_eval's code, with 95 % bootstrap intervals over queries.
    """
    import orjson
    from rich.console import Console

    from eval.beir import BeirFolder
    from eval.report import print_report, report_of
    from eval.retrieval import evaluate_retrieval
    from eval.runs import write_run
    from ses.settings import load_settings

    settings = load_settings(**flags)
    folder = BeirFolder(data)
    # What can be wrong with the question is found before hours may go into the answer.
    folder.judged(split)
    get_fusion(fusion)
    if runs:
        _make(runs)
    index, encoder, rejected = _indexed(folder, settings)
    outcome = evaluate_retrieval(
        folder, index, encoder, split=split, modes=modes or get_args(Mode), fusion=fusion, drop_same_id=drop_same_id
    )
    if runs:
        for mode, result in outcome.items():
            write_run(result.run, runs / f"{mode}.trec")
    first = next(iter(outcome.values()))
    left_out = {
        "documents_rejected": rejected,
        "queries_without_text": first.without_text,
        "queries_shortened": first.shortened,
    }
    report = report_of({mode: result.scores for mode, result in outcome.items()})
    if as_json:
        told = {"data": str(data), "split": split, "index": index.name, "model": index.schema.model}
        click.echo(orjson.dumps({**told, "left_out": left_out, **report.as_dict()}, option=orjson.OPT_INDENT_2))
        return
    print_report(report, Console())
    for what, count in left_out.items():
        if count:
            click.echo(f"{count:,} {what.replace('_', ' ')}")


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"The folder {folder} can't be made ({error.strerror}); give another with --run.") from error


def _indexed(folder: BeirFolder, settings: Settings) -> tuple[Index, TextEncoder, int]:
    """Bring the folder's index up to date; return it, its encoder and how many documents were rejected."""
    from corpora.reading import source_of
    from corpora.registry import get_corpus
    from encoders.registry import DEFAULT_MODEL, find_model
    from indexer.pipeline import IndexJob, index_corpus
    from search_plugin.engines.registry import connect
    from ses.progress import progress_on_stderr
    from ses.wiring import make_encoder

    engine = connect(settings.engine_url, settings.connection)
    model = find_model(settings.model or DEFAULT_MODEL)
    # The model is part of the name, so that models can be compared without indexing anew each time.
    name = f"eval-{_plain(folder.path.resolve().name)}-{model.card.fingerprint[:8]}"
    job = IndexJob(
        records=lambda: get_corpus("beir").read(folder.path, {}),
        source=source_of("beir", folder.path.resolve(), None),
        index=name,
        card=model.card,
        encoder=functools.cache(functools.partial(make_encoder, settings, model)),
        state_dir=settings.data_dir,
    )
    with progress_on_stderr() as progress:
        report = index_corpus(job, engine, progress)
    return engine.open(name), job.encoder(), report.rejected


def _plain(name: str) -> str:
    kept = "".join(char if char.isascii() and char.isalnum() else "-" for char in name.lower())
    return kept.strip("-")[:40] or "data"
