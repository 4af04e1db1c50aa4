"""`ses eval authors`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import rich_click as click

from ses.terminal.commands.eval.sources import data_option, show, vector_options, vector_source


@click.command()
@data_option(
    "Folder of S2AND's data sets, or file of papers with authors in JSON lines, whose full names are the truth."
)
@click.option(
    "--method",
    default="agglomerative",
    show_default=True,
    type=click.Choice(("agglomerative", "seeds")),
    help="Join clusters up to a threshold fitted on the other half of the blocks, or give each signature to the "
    "nearest of one known of each author.",
)
@click.option(
    "--blocks",
    default=50,
    show_default=True,
    type=click.IntRange(min=2),
    help="Number of blocks from a file of papers: the largest ones with up to 60 signatures.",
)
@vector_options
def authors(data: Path, method: str, blocks: int, **options: Any) -> None:
    """Group papers with one author's name by their true author: B-cubed precision, recall and F1.

    Only the papers' vectors are used. S2AND's own numbers, such as SciRepEval's, come from a system that also learns
    from names and affiliations, and can't be compared with these.
    """
    from eval.authors import METHODS, evaluate_authors, read_named_papers, read_s2and

    chosen = next(one for one in METHODS if one == method)
    sets = read_s2and(data) if data.is_dir() else {data.name: read_named_papers(data, blocks=blocks)}
    source = vector_source(options)
    outcomes = {label: evaluate_authors(signatures, source.embed, chosen) for label, signatures in sets.items()}
    show(outcomes, [source], {"data": data, "method": method}, "set", options)
