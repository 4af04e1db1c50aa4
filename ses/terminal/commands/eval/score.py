"""`ses eval score`."""

from __future__ import annotations

from pathlib import Path

import rich_click as click

from ses.terminal.results import say_json


@click.command()
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--qrels", required=True, type=click.Path(path_type=Path), help="File of judgments, in TREC's or BEIR's form."
)
@click.option(
    "--measure",
    "measures",
    multiple=True,
    metavar="NAME",
    help="Name of a measure, such as nDCG@10, MAP, P@5; repeatable [default: nDCG@10, MAP, Recall@100, MRR@10].",
)
@click.option(
    "--rounds",
    metavar="FIRST-LAST",
    help="Only the judgments of these rounds, without the papers judged before: 4.5-5 for TREC-COVID's Round 5.",
)
@click.option(
    "--drop-same-id", is_flag=True, help="Leave out hits whose id is the query's, where queries are papers themselves."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document and nothing else.")
def score(
    runs: tuple[Path, ...],
    qrels: Path,
    measures: tuple[str, ...],
    rounds: str | None,
    drop_same_id: bool,  # noqa: FBT001 - click passes flags so
    as_json: bool,  # noqa: FBT001
) -> None:
    """Measure TREC run files by trec_eval's code, with 95 % confidence intervals over queries.

    Every judged query counts, as 0 if a run has no results for it. The output counts what was left out.
    """
    from rich.console import Console

    from eval.measures.metrics import MEASURES
    from eval.reports.results import Results
    from eval.reports.tables import print_table
    from ses.evaluation.run_files import score_files

    scores = score_files(runs, qrels, measures or MEASURES, rounds=rounds or "", drop_same_id=drop_same_id)
    results = Results("run", {label: one.outcome() for label, one in scores.items()})
    if as_json:
        facts = {"qrels": str(qrels), "rounds": rounds, "runs": [str(path) for path in runs]}
        say_json({**facts, **results.as_dict()})
        return
    print_table(results.table(), Console())
