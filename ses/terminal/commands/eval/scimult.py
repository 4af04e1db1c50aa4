"""`ses eval scimult`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import rich_click as click

from corpora.errors import InputError
from encoders.models.formats import Similarity
from ses.terminal.commands.eval.sources import data_option, show, vector_options, vector_source
from ses.terminal.options import PATH

if TYPE_CHECKING:
    from eval.outcome import Outcome
    from ses.evaluation.vectors import VectorSource

TASKS = ("classification", "links", "search")


@click.command()
@data_option("A folder of SciMult's sets, such as classification_fine with its Geography_papers_test.json.")
@click.option("--task", required=True, type=click.Choice(TASKS), help="Task of the sets in the folder.")
@click.option(
    "--set",
    "sets",
    multiple=True,
    metavar="NAME",
    help="Name of a set, such as Geography; repeatable [default: all in the folder].",
)
@click.option(
    "--similarity",
    type=click.Choice(get_args(Similarity)),
    help="How vectors are compared [default: the model's; dot of vectors from files].",
)
@click.option(
    "--label-embeddings",
    type=PATH,
    metavar="FILE",
    help="Vectors of the labels, where their ids may be those of papers too.",
)
@vector_options
def scimult(data: Path, task: str, sets: tuple[str, ...], **options: Any) -> None:
    """Measure vectors by SciMult's evaluations, without any training.

    Classification ranks labels by their descriptions (recall at 20, 50 and 100, with and without label matching; F1
    where a paper has one label). Links ranks all papers by similarity (recall), or judged candidates (nDCG). Search
    ranks the corpus (nDCG@10), or judged candidates in the sets Search and TRECCOVID_SciRepEval.
    """
    from eval.scimult.data import find_sets

    known = find_sets(data)
    if unknown := [name for name in sets if name not in known]:
        raise InputError(f"{data} has no set {unknown[0]!r}; it has: {', '.join(known)}.")
    if options["label_embeddings"] and task != "classification":
        raise InputError("--label-embeddings is for --task classification: leave it out.")
    source = vector_source(options)
    similarity: Similarity = options["similarity"] or source.similarity or "dot"
    outcomes = {
        f"{name} {part}".strip(): outcome
        for name in sets or known
        for part, outcome in _measured(data, name, task, source, similarity, options["label_embeddings"]).items()
    }
    show(outcomes, [source], {"data": data, "task": task, "similarity": similarity}, "set", options)


def _measured(
    data: Path, name: str, task: str, source: VectorSource, similarity: Similarity, label_embeddings: Path | None
) -> dict[str, Outcome]:
    from encoders.files.embeddings import read_embeddings
    from eval.embedder import by_file
    from eval.scimult.data import read_classification, read_links, read_searches
    from eval.scimult.protocols import evaluate_classification, evaluate_links, evaluate_searches

    if task == "links":
        return evaluate_links(read_links(data, name), source.embed, similarity=similarity)
    if task == "search":
        return {"": evaluate_searches(read_searches(data, name), source.embed, similarity=similarity)}
    labels = by_file(read_embeddings(label_embeddings)) if label_embeddings else None
    return evaluate_classification(
        read_classification(data, name), source.embed, similarity=similarity, embed_labels=labels
    )
