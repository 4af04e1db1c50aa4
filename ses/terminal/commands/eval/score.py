"""`ses eval score`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import rich_click as click

from ses.terminal.commands.eval.collection import QRELS, DropSameId, JudgedRounds, Measures
from ses.terminal.options import PATH, json_option, own_options
from ses.terminal.results import say_json, tell_tables


@click.command()
@click.argument("runs", nargs=-1, required=True, type=PATH)
@own_options
@json_option
def score(
    *,
    runs: tuple[Path, ...],
    qrels: Annotated[Path, QRELS],
    measures: Measures = (),
    rounds: JudgedRounds = "",
    drop_same_id: DropSameId = False,
    as_json: bool,
) -> None:
    """Measure TREC run files by trec_eval's code, with 95 % confidence intervals over queries.

    Every judged query counts, as 0 if a run has no results for it. The output counts what was left out.
    """
    from eval.measures.metrics import MEASURES
    from eval.reports.results import Results
    from ses.evaluation.measuring import score_files

    scores = score_files(runs, qrels, measures or MEASURES, rounds=rounds, drop_same_id=drop_same_id)
    results = Results("run", {label: one.outcome() for label, one in scores.items()})
    if as_json:
        facts = {"qrels": str(qrels), "rounds": rounds or None, "runs": [str(path) for path in runs]}
        say_json({**facts, **results.as_dict()})
        return
    tell_tables(results.table())
