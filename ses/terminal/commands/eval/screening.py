"""`ses eval screening`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import rich_click as click

from ses.terminal.commands.eval.sources import data_option, show, vector_options, vector_source


@click.command()
@data_option("CSV files with title, abstract and label_included: one, a folder of them, or a tar archive.")
@click.option(
    "--seeds",
    default=1,
    show_default=True,
    type=click.IntRange(min=1),
    help="Number of included papers that are known from the start.",
)
@click.option(
    "--draws", default=10, show_default=True, type=click.IntRange(min=1), help="Number of times that they are drawn."
)
@click.option("--random-seed", default=0, show_default=True, type=click.IntRange(min=0), help="Seed of the draws.")
@vector_options
def screening(data: Path, seeds: int, draws: int, random_seed: int, **options: Any) -> None:
    """Screen for systematic reviews: rank the candidates by similarity to a few included papers.

    Prints average precision, the work saved over sampling at 95 % recall, and recall after 10, 20 and 50 % of the
    papers, by similarity to the mean of the seeds and to the nearest seed, with intervals over reviews.

    In a file of --embeddings, a paper's id is its file's name without .csv and the row's number, such as statins:12.
    """
    from eval.screening import evaluate_screening, read_reviews

    read = read_reviews(data)
    source = vector_source(options)
    outcomes = evaluate_screening(read, source.embed, seeds=seeds, draws=draws, random_seed=random_seed)
    show(outcomes, [source], {"data": data}, "likeness", options)
