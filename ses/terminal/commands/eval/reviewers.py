"""`ses eval reviewers`, `ses eval factors` and `ses eval gold-standard`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import rich_click as click

from corpora.errors import InputError, require
from corpora.options import Option
from encoders.models.formats import Format
from eval.reports.forms import check_report
from ses.settings import load_settings
from ses.terminal.commands.eval.sources import data_option, output_options, show, vector_options, vector_source
from ses.terminal.options import own_options, settings_of

FactorFiles = Annotated[
    Sequence[str],
    Option(
        "Take vectors from a file, by id, and not from a model; for cof and unipr by factor: semantic=FILE, topic=FILE "
        "and citation=FILE",
        "[FACTOR=]FILE",
    ),
]
FactorFormats = Annotated[
    Sequence[str],
    Option(
        "Format of the model's vectors that stands for a factor of cof or unipr, such as topic=clf, or a factor alone "
        "for UniPR's own instruction. Factors that aren't named are left out",
        "FACTOR[=FORMAT]",
        flag="factor",
    ),
]


@click.command()
@data_option(
    "A folder in SciRepEval's layout (test_hard_qrel.jsonl, test_soft_qrel.jsonl, reviewer_metadata.jsonl, "
    "metadata.jsonl) or CoF's."
)
@own_options
@output_options
def reviewers(
    *,
    data: Path,
    protocol: Annotated[
        Literal["scirepeval", "cof", "unipr", "openreview"], Option("Rules to match by")
    ] = "scirepeval",
    aggregate: Annotated[
        str,
        Option(
            "How unipr (top3, max, average, sum) or openreview (max, average, or a percentile such as p75) joins the "
            "similarities of a reviewer's papers",
            "NAME",
            default_help="top3, and max",
        ),
    ] = "",
    embeddings: FactorFiles = (),
    named: FactorFormats = (),
    **options: Any,
) -> None:
    """Match papers with reviewers: P@5 and P@10 with soft and hard judgments.

    A reviewer's score is the mean of the three papers most like the submission (scirepeval), three such papers after
    a chain of factors (cof), reciprocal ranks by factor (unipr), or the likest paper (openreview).

    cof and unipr compare papers by three factors: semantic, topic and citation. A checkpoint of UniPR has an
    instruction for each. Of other models say what stands for which factor, with --factor or --embeddings.
    """
    from encoders.layouts.unipr import instructions_for
    from eval.reviewers.data import read_reviewers
    from eval.reviewers.protocol import evaluate_reviewers, older_soft_precisions
    from products.reviewers.rules import matching_of
    from ses.evaluation.factors import Factor, find_factors

    matching = matching_of(protocol, aggregate)
    read = read_reviewers(data)
    if not embeddings and not read.papers:
        raise InputError(f"{data} has no texts: put metadata.jsonl there, or name vectors with --embeddings.")
    if len(matching.factors) == 1:
        require(not named, "--factor is for --protocol cof and unipr: leave it out, or add one of those.")
        source = vector_source({**options, "embeddings": embeddings})
        factors = {matching.factors[0]: Factor(source, source.facts)}
        about: dict[str, Any] = {"data": data, "protocol": protocol}
    else:
        if options["report_file"]:
            check_report(options["report_file"])
        settings = load_settings(**settings_of(options))
        factors = find_factors(
            matching, instructions_for(read.name), embeddings, named, settings, model_named=bool(options["model"])
        )
        about = {"data": data, "protocol": protocol, "factors": {name: one.facts for name, one in factors.items()}}
    embedders = {name: one.embed for name, one in factors.items()}
    also = older_soft_precisions if protocol == "unipr" else None
    outcome = evaluate_reviewers(read, embedders, matching.only(factors), also)
    fewer = "" if len(factors) == len(matching.factors) else f", only {' and '.join(factors)}"
    show({f"{protocol}{fewer}": outcome}, [one.source for one in factors.values()], about, "protocol", options)


@click.command("factors")
@data_option("A folder with semantic.jsonl, topic.jsonl and citation.jsonl, or some of them.")
@own_options
@output_options
def factors(*, data: Path, embeddings: FactorFiles = (), named: FactorFormats = (), **options: Any) -> None:
    """Measure each factor of reviewer matching by itself, as in UniPR's table 7: the mean rank of a relevant candidate.

    A line of a factor's file holds a query and its candidates, one of them relevant (100 of them in the paper). A
    checkpoint of UniPR reads them under its instructions for a data set of the folder's name, such as KDD; for topics,
    under the instruction that the paper takes to find names of topics.
    """
    from encoders.layouts.unipr import instructions_by_factor
    from eval.reviewers.factor_ranks import evaluate_factor_ranks, read_factor_tasks
    from products.reviewers.rules import MATCHINGS
    from ses.evaluation.factors import find_factors

    if options["report_file"]:
        check_report(options["report_file"])
    tasks = read_factor_tasks(data, MATCHINGS["unipr"].factors)
    matching, settings = MATCHINGS["unipr"].only(tasks), load_settings(**settings_of(options))
    model_named = bool(options["model"])
    found = find_factors(
        matching, instructions_by_factor(data.resolve().name), embeddings, named, settings, model_named=model_named
    )
    outcomes = {name: evaluate_factor_ranks(tasks[name], one.embed) for name, one in found.items()}
    about = {"data": data, "factors": {name: one.facts for name, one in found.items()}}
    show(outcomes, [one.source for one in found.values()], about, "factor", options)


@click.command("gold-standard")
@data_option("The data set, unpacked or as the tar archive.")
@own_options
@vector_options
def gold_standard(
    *,
    data: Path,
    aggregate: Annotated[
        str,
        Option(
            "How openreview joins the similarities of a reviewer's papers: max, average, or a percentile such as p75",
            "NAME",
        ),
    ] = "max",
    factors: Annotated[
        bool,
        Option(
            "Measure the factors of `ses reviewers match` instead: words, PRX vectors, CLF vectors if the model has "
            "its own, and all together; with <aggregate> top3 or max"
        ),
    ] = False,
    **options: Any,
) -> None:
    """Compare with what reviewers said of their own expertise (Stelmakh et al. 2023).

    Prints the weighted share of pairs of papers in the wrong order (lower is better, 0.5 is chance), and the accuracy
    on easy and hard pairs.
    """
    from eval.reviewers.gold_standard import compare_factors, evaluate_gold_standard, read_gold_standard
    from products.reviewers.rules import AGGREGATES, openreview

    if factors:
        if aggregate not in AGGREGATES:
            raise InputError(f"With --factors, --aggregate is one of {', '.join(AGGREGATES)}.")
        read, source = read_gold_standard(data), vector_source(options)
        wanted = {"semantic": Format.PRX}
        if source.card and Format.CLF in source.card.distinct([Format.PRX, Format.CLF]):
            wanted["topic"] = Format.CLF
        vectors = {name: source.embed(list(read.papers.values()), kind) for name, kind in wanted.items()}
        about = {"data": data, "aggregate": aggregate}
        show(compare_factors(read, vectors, aggregate), [source], about, "factors", options)
        return

    matching = openreview(aggregate)
    read = read_gold_standard(data)
    source = vector_source(options)
    outcomes = {source.name: evaluate_gold_standard(read, source.embed, matching)}
    show(outcomes, [source], {"data": data}, "vectors", options)
