"""`ses eval`: one file a protocol; a new one is one file and one line here."""

from __future__ import annotations

import rich_click as click

from ses.commands.eval.authors import authors
from ses.commands.eval.compare import compare
from ses.commands.eval.miread import miread
from ses.commands.eval.retrieval import retrieval
from ses.commands.eval.reviewers import gold_standard, reviewers
from ses.commands.eval.scidocs import scidocs
from ses.commands.eval.scimult import scimult
from ses.commands.eval.score import score
from ses.commands.eval.screening import screening
from ses.commands.eval.suite import suite
from ses.commands.eval.task import task
from ses.commands.eval.tune import tune


@click.group("eval")
def eval_() -> None:
    """Measure how well search works, and how well vectors serve."""


for command in (
    authors,
    compare,
    gold_standard,
    miread,
    retrieval,
    reviewers,
    scidocs,
    scimult,
    score,
    screening,
    suite,
    task,
    tune,
):
    eval_.add_command(command)
