"""`ses eval scidocs`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import rich_click as click

from ses.terminal.commands.eval.sources import data_option, show, vector_options, vector_source


@click.command()
@data_option("SciDocs' folder data: mag, mesh, coview, coread, cite, cocite and the papers' metadata.")
@click.option(
    "--task",
    "tasks",
    multiple=True,
    metavar="NAME",
    help="Name of a task, such as mag; repeatable [default: all in the folder].",
)
@click.option(
    "--split", default="test", show_default=True, help="Name of the split: test, or val to choose a model by."
)
@vector_options
def scidocs(data: Path, tasks: tuple[str, ...], split: str, **options: Any) -> None:
    """Measure vectors by SciDocs: two classifications (macro F1) and four rankings (MAP, nDCG).

    As in its own harness, papers without a vector get zeros in a classification and are left out of a ranking; the
    output counts them. The recommendation task, which trains a model on clicks, is left out, as in SciRepEval.
    """
    from eval.scidocs import SciDocs, evaluate_scidocs

    folder = SciDocs(data)
    source = vector_source(options)
    outcomes = evaluate_scidocs(folder, source.embed, tasks=tasks, split=split)
    show(outcomes, [source], {"data": data, "split": split}, "task", options)
