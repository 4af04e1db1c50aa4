"""`ses eval formats`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import rich_click as click

from corpora.options import Option
from ses.terminal.commands.eval.sources import LabelField, data_option, show, vector_options, vector_source
from ses.terminal.options import own_options
from ses.terminal.results import tell


@click.command()
@data_option("JSON lines of papers with labels, plain or packed.")
@own_options
@vector_options
def formats(
    *,
    data: Path,
    label: LabelField = "label",
    several: Annotated[bool, Option("Predict all labels of a paper; otherwise its first label is its class")] = False,
    fewest: Annotated[int, Option("Fewest papers of a label; rarer ones are left out", least=5)] = 20,
    most: Annotated[int, Option("Most papers; more are drawn", least=50)] = 2_000,
    probe: Annotated[
        Literal["ridge", "svm"],
        Option(
            "The linear model: ridge regression, which is solved exactly, or a support vector machine, which takes a "
            "hundred times as long"
        ),
    ] = "ridge",
    **options: Any,
) -> None:
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
