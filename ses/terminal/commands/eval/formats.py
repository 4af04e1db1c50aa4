"""`ses eval formats`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import rich_click as click

from ses.terminal.commands.eval.sources import data_option, label_option, show, vector_options, vector_source
from ses.terminal.results import tell


@click.command()
@data_option("JSON lines of papers with labels, plain or packed.")
@label_option
@click.option("--several", is_flag=True, help="Predict all labels of a paper; otherwise its first label is its class.")
@click.option(
    "--fewest",
    default=20,
    show_default=True,
    type=click.IntRange(min=5),
    help="Fewest papers of a label; rarer ones are left out.",
    metavar="N",
)
@click.option(
    "--most",
    default=2_000,
    show_default=True,
    type=click.IntRange(min=50),
    help="Most papers; more are drawn.",
    metavar="N",
)
@click.option(
    "--probe",
    default="ridge",
    show_default=True,
    type=click.Choice(("ridge", "svm")),
    help="The linear model: ridge regression, which is solved exactly, or a support vector machine, which takes "
    "a hundred times as long.",
)
@vector_options
def formats(data: Path, label: str, fewest: int, most: int, probe: str, *, several: bool, **options: Any) -> None:
    """Compare a model's formats with its PRX vectors: which format is better for your labels, if any.

    Linear models learn the labels from each format's vectors, with settings chosen by nested cross-validation. Prints
    macro F1 for four fifths of the papers to learn from, for 4 and 16 papers of each class, and for the nearest
    centroid, and the differences from PRX with their paired intervals over papers.
    """
    from eval.files.labelled import read_labelled
    from eval.formats import evaluate_formats
    from ses.evaluation.vectors import own_formats

    papers = read_labelled(data, label=label, split="", fewest=1 if several else fewest).at_most(most)
    source = vector_source(options)
    compared = own_formats(source)
    found = evaluate_formats(papers, source.embed, compared, several=several, fewest=fewest, probe=probe)
    show(found.rows(), [source], {"data": data, "label": label}, "vectors", options)
    if not options["as_json"]:
        for sentence in found.verdicts():
            tell(sentence)
