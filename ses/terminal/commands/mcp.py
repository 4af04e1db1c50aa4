"""`ses mcp`."""

from __future__ import annotations

from typing import Any

import rich_click as click

from ses.terminal.options import default_index_option, engine_option, model_options, open_library
from ses.terminal.results import tell


@click.command()
@click.option(
    "--http", "place", metavar="HOST:PORT", help="Serve this machine over HTTP instead, such as 127.0.0.1:8766."
)
@default_index_option
@model_options
@engine_option
def mcp(place: str | None, index: str | None, **options: Any) -> None:
    """Serve assistants by the Model Context Protocol, over standard input and output.

    Assistants start this command themselves (docs/assistants.md). They may search and read, and write nothing.
    """
    from ses.assistants.running import run_http, run_stdio
    from ses.assistants.tools import assistant_of

    assistant = assistant_of(open_library(options, index))
    if place:
        run_http(assistant, place, lambda address: tell(f"Assistants are served at {address}", err=True))
    else:
        run_stdio(assistant)
