"""`ses plan`."""

from __future__ import annotations

from typing import Any

import rich_click as click

import ses
from ses.terminal.options import described_options, given_of, json_option
from ses.terminal.results import say


@click.command()
@click.argument("papers", type=float)
@described_options(ses.plan)
@json_option
def plan(papers: float, *, as_json: bool, **options: Any) -> None:
    """Estimate what an index of PAPERS needs: disk, memory, shards, nodes, hours, and how long a page takes.

    The estimate comes from measured points; nothing is measured here, and no engine is asked. PAPERS may be written as
    20e6. Costs are shown for each price that is given.
    """
    found = ses.plan(papers, **given_of(ses.plan, options))
    say(found.to_dict(), str(found), as_json=as_json)
