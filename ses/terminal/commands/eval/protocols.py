"""`ses eval authors`, `mdcr`, `miread`, `scidocs`, `scimult` and `screening`: what measures the vectors of one source.

A new protocol is one function here, and a line in `COMMANDS`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import rich_click as click

from corpora.errors import InputError
from corpora.options import Option
from encoders.models.formats import Similarity
from eval.authors import Method as AuthorMethod
from eval.authors import evaluate_authors, read_named_papers, read_s2and
from ses.terminal.commands.eval.sources import LabelField, data_option, show, vector_options, vector_source
from ses.terminal.options import own_options

if TYPE_CHECKING:
    from eval.outcome import Outcome
    from ses.evaluation.vectors import VectorSource

Opener = Callable[[], "VectorSource"]
"""Opens the vectors that the options choose."""

Measured = tuple[Mapping[str, "Outcome"], Mapping[str, Any]]
"""Outcomes by the label of their rows, and facts about them."""


def protocol(heading: str, data: str) -> Callable[[Callable[..., Measured]], click.Command]:
    """Return a decorator that makes a command of a protocol that measures vectors.

    `heading` is the name of the column of labels, and `data` the help of the option `--data`. The decorated function
    takes the path of the data and an `Opener`, which it calls after it has read the data, so that what is wrong with
    these is said first.
    """

    def made(measure: Callable[..., Measured]) -> click.Command:
        @click.command(measure.__name__.replace("_", "-"), help=measure.__doc__)
        @data_option(data)
        @vector_options
        def command(**options: Any) -> None:
            opened = functools.cache(lambda: vector_source(options))
            own = {name: options[name] for name in taken}
            outcomes, about = measure(options["data"], opened, **own)
            show(outcomes, [opened()], {"data": options["data"], **about}, heading, options)

        added: list[click.Parameter] = getattr(own_options(measure), "__click_params__", [])
        taken = [str(one.name) for one in added]
        command.params[1:1] = reversed(added)
        return command

    return made


@protocol(
    "set", "Folder of S2AND's data sets, or file of papers with authors in JSON lines, whose full names are the truth."
)
def authors(
    data: Path,
    opened: Opener,
    *,
    method: Annotated[
        AuthorMethod,
        Option(
            "Join clusters up to a threshold fitted on the other half of the blocks, or give each signature to the "
            "nearest of one known of each author"
        ),
    ] = "agglomerative",
    blocks: Annotated[
        int, Option("Number of blocks from a file of papers: the largest ones with up to 60 signatures", least=2)
    ] = 50,
) -> Measured:
    """Group papers with one author's name by their true author: B-cubed precision, recall and F1.

    Only the papers' vectors are used. S2AND's own numbers, such as SciRepEval's, come from a system that also learns
    from names and affiliations, and can't be compared with these.
    """
    sets = read_s2and(data) if data.is_dir() else {data.name: read_named_papers(data, blocks=blocks)}
    embed = opened().embed
    outcomes = {label: evaluate_authors(signatures, embed, method) for label, signatures in sets.items()}
    return outcomes, {"method": method}


@protocol("field", "Folder of MDCR: mdcr_test.json and mdcr_test_data.jsonl.")
def mdcr(
    data: Path,
    opened: Opener,
    *,
    split: Annotated[str, Option("Name of the split: test, or val to choose a model by", "NAME")] = "test",
    scores: Annotated[
        Path | None, Option("File to write for MDCR's evaluate.py: a score for each pair", "FILE")
    ] = None,
) -> Measured:
    """Measure vectors by MDCR: cited papers ranked among others, by field of science (MAP, nDCG, recall at 5).

    The last row is the average over the fields.
    """
    from eval.mdcr import measure_mdcr, rank_mdcr, read_mdcr, write_scores

    read = read_mdcr(data, split)
    ranked = rank_mdcr(read, opened().embed)
    if scores:
        write_scores(scores, ranked)
    return measure_mdcr(read, ranked), {"split": split}


@protocol("part", "JSON lines of papers with labels, plain or packed.")
def miread(
    data: Path,
    opened: Opener,
    *,
    label: LabelField = "label",
    split: Annotated[
        str,
        Option(
            "Field that says train or test; where no paper has it, a fifth of each class is drawn for testing", "FIELD"
        ),
    ] = "split",
    fewest: Annotated[int, Option("Fewest papers of a class; smaller ones are left out", least=1)] = 8,
    clusters: Annotated[
        Sequence[int],
        Option(
            "Number of clusters, such as the paper's 10, 20, 50 and 100",
            "K",
            least=1,
            default_help="one for each class",
        ),
    ] = (),
    seeds: Annotated[int, Option("Number of runs to average, each with another seed", least=1, most=1000)] = 3,
    by_field: Annotated[bool, Option("Labels are arXiv's: classify by field (cs), pair within it (cs.LG)")] = False,
) -> Measured:
    """Measure vectors as MIReAD's paper does: a linear probe, clusters, and pairs of papers that share a label.

    Prints the probe's accuracy and macro F1; purity and normalised mutual information of k-means; average precision
    and area under the ROC curve of all pairs, ranked by correlation.
    """
    from eval.files.labelled import read_labelled
    from eval.miread import evaluate_miread

    papers = read_labelled(data, label=label, split=split, fewest=fewest)
    outcomes = evaluate_miread(papers, opened().embed, clusters=clusters, seeds=seeds, by_field=by_field)
    return outcomes, {"label": label}


@protocol("task", "SciDocs' folder data: mag, mesh, coview, coread, cite, cocite, recomm and the papers' metadata.")
def scidocs(
    data: Path,
    opened: Opener,
    *,
    tasks: Annotated[
        Sequence[str], Option("Name of a task, such as mag", "NAME", default_help="all in the folder", flag="task")
    ] = (),
    split: Annotated[str, Option("Name of the split: test, or val to choose a model by", "NAME")] = "test",
) -> Measured:
    """Measure vectors by SciDocs: two classifications (macro F1), four rankings (MAP, nDCG) and recommendations.

    As in its own harness, papers without a vector get zeros in a classification and are left out of a ranking; the
    output counts them. Recommendations (nDCG and P@1, adjusted by propensities) are ranked by the network that the
    harness trains on clicks (recomm, which needs the extra train), and by the vectors alone (recomm-cosine).
    """
    from eval.scidocs import SciDocs, evaluate_scidocs

    folder = SciDocs(data)
    return evaluate_scidocs(folder, opened().embed, tasks=tasks, split=split), {"split": split}


@protocol("set", "A folder of SciMult's sets, such as classification_fine with its Geography_papers_test.json.")
def scimult(
    data: Path,
    opened: Opener,
    *,
    task: Annotated[Literal["classification", "links", "search"], Option("Task of the sets in the folder")],
    sets: Annotated[
        Sequence[str], Option("Name of a set, such as Geography", "NAME", default_help="all in the folder", flag="set")
    ] = (),
    similarity: Annotated[
        Similarity | None, Option("How vectors are compared", default_help="the model's; dot of vectors from files")
    ] = None,
    label_embeddings: Annotated[
        Path | None, Option("Vectors of the labels, where their ids may be those of papers too", "FILE")
    ] = None,
    names_only: Annotated[bool, Option("Read labels without their definitions, as in table A8")] = False,
) -> Measured:
    """Measure vectors by SciMult's evaluations, without any training.

    Classification ranks labels by their descriptions (recall at 20, 50 and 100, with and without label matching; F1
    where a paper has one label). Links ranks all papers by similarity (recall), or judged candidates (nDCG). Search
    ranks the corpus (nDCG@10), or judged candidates in the sets Search and TRECCOVID_SciRepEval.
    """
    from encoders.files.embeddings import read_embeddings
    from eval.embedder import by_file
    from eval.scimult import (
        evaluate_classification,
        evaluate_links,
        evaluate_searches,
        find_sets,
        read_classification,
        read_links,
        read_searches,
    )

    known = find_sets(data)
    if unknown := [name for name in sets if name not in known]:
        raise InputError(f"{data} has no set {unknown[0]!r}; it has: {', '.join(known)}.")
    if label_embeddings and task != "classification":
        raise InputError("--label-embeddings is for --task classification: leave it out.")
    if names_only and (label_embeddings or task != "classification"):
        raise InputError("--names-only is for --task classification without --label-embeddings: leave it out.")
    source = opened()
    compared = similarity or source.similarity or "dot"

    def measured(name: str) -> Mapping[str, Outcome]:
        if task == "links":
            return evaluate_links(read_links(data, name), source.embed, similarity=compared)
        if task == "search":
            return {"": evaluate_searches(read_searches(data, name), source.embed, similarity=compared)}
        of_labels = by_file(read_embeddings(label_embeddings)) if label_embeddings else None
        read = read_classification(data, name, names_only=names_only)
        return evaluate_classification(read, source.embed, similarity=compared, embed_labels=of_labels)

    outcomes = {f"{name} {part}".strip(): one for name in sets or known for part, one in measured(name).items()}
    return outcomes, {"task": task, "similarity": compared, **({"labels": "names"} if names_only else {})}


@protocol("likeness", "CSV files with title, abstract and label_included: one, a folder of them, or a tar archive.")
def screening(
    data: Path,
    opened: Opener,
    *,
    seeds: Annotated[int, Option("Number of included papers that are known from the start", least=1)] = 1,
    draws: Annotated[int, Option("Number of times that they are drawn", least=1)] = 10,
    random_seed: Annotated[int, Option("Seed of the draws", least=0)] = 0,
) -> Measured:
    """Screen for systematic reviews: rank the candidates by similarity to a few included papers.

    Prints average precision, the work saved over sampling at 95 % recall, and recall after 10, 20 and 50 % of the
    papers, by similarity to the mean of the seeds and to the nearest seed, with intervals over reviews.

    In a file of --embeddings, a paper's id is its file's name without .csv and the row's number, such as statins:12.
    """
    from eval.screening import evaluate_screening, read_reviews

    read = read_reviews(data)
    return evaluate_screening(read, opened().embed, seeds=seeds, draws=draws, random_seed=random_seed), {}
