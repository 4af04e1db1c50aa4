"""`ses eval reviewers` and `ses eval gold-standard`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import rich_click as click

from corpora.errors import InputError
from ses.commands.eval.sources import Source, output_options, show, vector_options, vector_source

PROTOCOLS = ("scirepeval", "cof", "unipr", "openreview")

_aggregate = click.option(
    "--aggregate",
    default="max",
    show_default=True,
    metavar="NAME",
    help="Of openreview, over a reviewer's papers: max, average, or a percentile such as p75.",
)


@click.command()
@click.option(
    "--data",
    required=True,
    type=click.Path(path_type=Path),
    help="A folder in SciRepEval's layout (test_hard_qrel.jsonl, test_soft_qrel.jsonl, reviewer_metadata.jsonl, "
    "metadata.jsonl) or CoF's.",
)
@click.option("--protocol", default="scirepeval", show_default=True, type=click.Choice(PROTOCOLS), help="Whose rules.")
@_aggregate
@click.option(
    "--embeddings",
    multiple=True,
    metavar="[FACTOR=]FILE",
    help="Take vectors from a file, by id, and use no model; cof and unipr take one file for all factors or three: "
    "semantic=, topic= and citation=.",
)
@output_options
def reviewers(
    data: Path,
    protocol: str,
    aggregate: str,
    embeddings: tuple[str, ...],
    **options: Any,
) -> None:
    """Match papers with reviewers: P@5 and P@10 with soft and hard judgments.

    A reviewer's score is the mean of the three papers most like the submission (scirepeval), three such papers after
    a chain of factors (cof), reciprocal ranks by factor (unipr), or the likest paper (openreview).
    """
    from eval.reviewers.data import read_reviewers
    from eval.reviewers.protocol import evaluate_reviewers
    from eval.reviewers.rules import MATCHINGS, openreview

    if aggregate != "max" and protocol != "openreview":
        raise InputError("--aggregate is for --protocol openreview: leave it out, or add that.")
    matching = openreview(aggregate) if protocol == "openreview" else MATCHINGS[protocol]
    read = read_reviewers(data)
    if not embeddings and not read.papers:
        raise InputError(f"{data} has no texts: put metadata.jsonl there, or name vectors with --embeddings.")
    sources = _sources(embeddings, tuple(matching.factors), options)
    outcome = evaluate_reviewers(read, [source.embed for source in sources], matching)
    show({protocol: outcome}, sources, {"data": data, "protocol": protocol}, "protocol", options)


@click.command("gold-standard")
@click.option(
    "--data", required=True, type=click.Path(path_type=Path), help="The data set, unpacked or as the tar archive."
)
@_aggregate
@vector_options
def gold_standard(
    data: Path,
    aggregate: str,
    **options: Any,
) -> None:
    """Compare with what reviewers said of their own expertise (Stelmakh et al. 2023).

    Prints the weighted share of pairs of papers in the wrong order (lower is better, 0.5 is chance), and the accuracy
    on easy and hard pairs.
    """
    from eval.reviewers.gold_standard import evaluate_gold_standard, read_gold_standard
    from eval.reviewers.rules import openreview

    matching = openreview(aggregate)
    read = read_gold_standard(data)
    source = vector_source(options)
    outcomes = {source.name: evaluate_gold_standard(read, source.embed, matching)}
    show(outcomes, [source], {"data": data}, "vectors", options)


def _sources(embeddings: tuple[str, ...], factors: tuple[str, ...], options: dict[str, Any]) -> list[Source]:
    """Return what makes vectors, one for all factors or one each in their order."""
    parts = [(text, *text.partition("=")[::2]) for text in embeddings]
    plain = [text for text, factor, file in parts if factor not in factors or not file]
    named = {factor: file for _, factor, file in parts if factor in factors and file}
    if len(plain) + len(named) < len(parts) or len(plain) > 1 or (named and (plain or len(named) < len(factors))):
        raise InputError(f"Give --embeddings once, or once for each factor: {', '.join(f'{f}=FILE' for f in factors)}.")
    if named:
        return [vector_source({**options, "embeddings": [named[factor]]}) for factor in factors]
    return [vector_source({**options, "embeddings": plain})]
