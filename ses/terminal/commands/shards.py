"""`ses shards`."""

from __future__ import annotations

from dataclasses import asdict

import rich_click as click

from corpora.errors import short_list
from ses.terminal.options import json_option
from ses.terminal.results import say


@click.group()
def shards() -> None:
    """Look after what `ses encode --shards` has encoded."""


@shards.command()
@click.argument("folder")
@json_option
@click.pass_context
def status(context: click.RichContext, /, folder: str, *, as_json: bool) -> None:
    """List what a folder or URL of shards lacks: unfinished shards, and missing or damaged blocks.

    All blocks are read, and their checksums compared. The exit code is 1 if a shard has to be encoded again, else 0.
    The newest shard says what the corpus is, and how many shards there are.
    """
    from eval.reports.report import counted
    from indexer.shards import status_of
    from indexer.storage import storage_at

    found = status_of(storage_at(folder))
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
