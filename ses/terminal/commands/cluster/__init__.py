"""`ses cluster`: what other people's front ends need of a cluster; a new command is one file and one line here."""

from __future__ import annotations

import rich_click as click

from ses.terminal.lazy import LazyGroup

_HERE = "ses.terminal.commands.cluster"

COMMANDS: dict[str, tuple[str, str]] = {
    "install": (f"{_HERE}.install:install", "Keep search templates and a search pipeline for an index in its cluster."),
    "diff": (f"{_HERE}.install:diff", "Show what `ses cluster install` would change in the cluster."),
    "remove": (f"{_HERE}.install:remove", "Delete all that `ses cluster install` has made for an index."),
    "request": (f"{_HERE}.request:request", "Print the HTTP requests of a page, for other programs to send."),
}
"""The commands: the module of each, and the first sentence of its help."""


@click.group("cluster", cls=LazyGroup, lazy=COMMANDS)
def cluster() -> None:
    """Let other programs search an index in OpenSearch or Elasticsearch without ses."""
