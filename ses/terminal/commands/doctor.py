"""`ses doctor`."""

from __future__ import annotations

from typing import Any

import rich_click as click

from corpora.outgoing import in_a_line
from ses.settings import load_settings
from ses.terminal.checkup import check_up
from ses.terminal.commands.plan import plan
from ses.terminal.options import engine_options, settings_of
from ses.terminal.results import say_json, tell


@click.command()
@click.option("--index", metavar="NAME", help="Check only this index [default: all].")
@click.option("--plan", "papers", type=float, metavar="PAPERS", help="Only estimate, as `ses plan` does by default.")
@engine_options
@click.pass_context
def doctor(
    context: click.RichContext, /, *, index: str | None, papers: float | None, as_json: bool, **options: Any
) -> None:
    """Show what is installed, the settings in force, and the state of models, engine and indexes.

    The list at the end has one line for each problem, which says what to do. Nothing is changed, except that a model
    from the hub may be fetched, and damaged files that are derived from papers and vectors are made again. The exit
    code is 3 if the engine or a model is missing, else 0.
    """
    if papers is not None:
        context.exit(context.invoke(plan, papers=papers, as_json=as_json))
    flags = settings_of(options)
    checkup = check_up(load_settings(**flags), flags, index)
    if as_json:
        say_json(checkup.to_dict())
    else:
        tell("\n".join(map(in_a_line, checkup.to_lines())))
    context.exit(checkup.exit_code)
