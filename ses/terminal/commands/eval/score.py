"""`ses eval score`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click

from corpora.errors import InputError
from ses.terminal.results import say_json

if TYPE_CHECKING:
    from eval.measures.metrics import Scores


@click.command()
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--qrels", required=True, type=click.Path(path_type=Path), help="The judgments, in TREC's or BEIR's form."
)
@click.option(
    "--measure",
    "measures",
    multiple=True,
    metavar="NAME",
    help="Such as nDCG@10, MAP, P@5; repeatable [default: nDCG@10, MAP, Recall@100, MRR@10].",
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

    from eval.measures.metrics import evaluate, parse_measure
    from eval.reports.results import Results
    from eval.reports.tables import print_table
    from eval.retrieval.protocol import MEASURES
    from eval.trec.judgments import read_qrels
    from eval.trec.residual import parse_rounds, residual
    from eval.trec.runs import read_run

    names = measures or MEASURES
    for name in names:
        parse_measure(name)
    judged = read_qrels(qrels)
    kept, seen = residual(judged, parse_rounds(rounds)) if rounds else (judged, None)
    scores: dict[str, Scores] = {}
    for path, label in zip(runs, _labels(runs), strict=True):
        # Only one run at a time is in memory.
        run = read_run(path)
        try:
            scores[label] = evaluate(run, kept, names, drop_same_id=drop_same_id, seen=seen)
        except InputError as error:
            raise InputError(f"{label}: {error.sentence}", error.hint) from error
    results = Results("run", {label: one.outcome() for label, one in scores.items()})
    if as_json:
        facts = {"qrels": str(qrels), "rounds": rounds, "runs": [str(path) for path in runs]}
        say_json({**facts, **results.as_dict()})
        return
    print_table(results.table(), Console())


def _labels(runs: tuple[Path, ...]) -> list[str]:
    """Return the files' names, or their paths where two have the same name."""
    if len(set(runs)) < len(runs):
        raise InputError("A run file is named twice; name each once.")
    names = [path.name for path in runs]
    return names if len(set(names)) == len(names) else [str(path) for path in runs]
