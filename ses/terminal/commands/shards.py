"""`ses shards`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import rich_click as click

from corpora.errors import short_list
from ses.terminal.options import json_option
from ses.terminal.results import say


@click.group()
def shards() -> None:
    """Look after folders of `ses encode --shards`."""


@shards.command()
@click.argument("folder", type=click.Path(path_type=Path, exists=True, file_okay=False))
@json_option
@click.pass_context
def status(context: click.RichContext, /, folder: Path, *, as_json: bool) -> None:
    """List what a folder of shards lacks: unfinished shards, and missing or damaged blocks.

    All blocks are read, and their checksums compared. The exit code is 1 if a shard has to be encoded again, else 0.
    The newest shard says what the corpus is, and how many shards there are.
    """
    from eval.reports.tables import counted
    from indexer.shards import status_of

    found = status_of(folder)
    lines = [
        f"{counted(found.papers, 'papers')} in {counted(found.blocks, 'blocks')} and "
        f"{counted(found.shards, 'shards')}: vectors {', '.join(found.vectors)} by {found.model}"
    ]
    for what, which in (
        ("Shards that are not finished", found.unfinished),
        ("Missing blocks", found.missing),
        ("Damaged blocks", found.damaged),
    ):
        if which:
            lines.append(f"{what}: {short_list(which, 20)}")
    if found.rejected:
        lines.append(f"Papers that can't be encoded: {found.rejected:,}; the lists beside the manifests say why")
    again = found.again
    lines.append(f"To encode again: --shard {short_list(again, 20)}" if again else "Nothing is missing.")
    say({**asdict(found), "again": again}, lines, as_json=as_json)
    context.exit(1 if again else 0)
