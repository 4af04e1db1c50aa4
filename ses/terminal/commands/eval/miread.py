"""`ses eval miread`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import rich_click as click

from ses.terminal.commands.eval.sources import data_option, label_option, show, vector_options, vector_source


@click.command()
@data_option("JSON lines of papers with labels, plain or packed.")
@label_option
@click.option(
    "--split",
    "split_field",
    default="split",
    show_default=True,
    metavar="FIELD",
    help="Field that says train or test; where no paper has it, a fifth of each class is drawn for testing.",
)
@click.option(
    "--fewest",
    default=8,
    show_default=True,
    type=click.IntRange(min=1),
    help="Fewest papers of a class; smaller ones are left out.",
    metavar="N",
)
@click.option(
    "--clusters",
    multiple=True,
    type=click.IntRange(min=1),
    metavar="K",
    help="Number of clusters, such as the paper's 10, 20, 50 and 100; repeatable [default: one for each class].",
)
@click.option(
    "--seeds",
    default=3,
    show_default=True,
    type=click.IntRange(1, 1000),
    help="Number of runs to average, each with another seed.",
)
@click.option("--by-field", is_flag=True, help="Labels are arXiv's: classify by field (cs), pair within it (cs.LG).")
@vector_options
def miread(
    data: Path,
    label: str,
    split_field: str,
    fewest: int,
    clusters: tuple[int, ...],
    seeds: int,
    *,
    by_field: bool,
    **options: Any,
) -> None:
    """Measure vectors as MIReAD's paper does: a linear probe, clusters, and pairs of papers that share a label.

    Prints the probe's accuracy and macro F1; purity and normalised mutual information of k-means; average precision
    and area under the ROC curve of all pairs, ranked by correlation.
    """
    from eval.files.labelled import read_labelled
    from eval.miread import evaluate_miread

    papers = read_labelled(data, label=label, split=split_field, fewest=fewest)
    source = vector_source(options)
    outcomes = evaluate_miread(papers, source.embed, clusters=clusters, seeds=seeds, by_field=by_field)
    show(outcomes, [source], {"data": data, "label": label}, "part", options)
