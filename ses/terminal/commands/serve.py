"""`ses serve`."""

from __future__ import annotations

from typing import Any

import rich_click as click

from corpora.errors import SesError
from ses.terminal.messages import message_of
from ses.terminal.options import engine_option, model_options, open_library


@click.command()
@click.option("--host", metavar="ADDRESS", help="Address to listen on [default: 127.0.0.1].")
@click.option("--port", type=int, metavar="N", help="Port to listen on; 0 for any that is free [default: 8765].")
@click.option("--workers", type=int, metavar="N", help="Processes that answer requests [default: 1].")
@model_options
@engine_option
def serve(host: str | None, port: int | None, workers: int | None, **options: Any) -> None:
    """Serve the indexes of an engine over HTTP.

    There is a web page for readers, and an API for programs. Further settings are in the table [serve] of ses.toml, and
    in the environment as SES_SERVE_NAME.
    """
    from corpora.installed import needing

    with needing("The service needs FastAPI and uvicorn, which are not installed", "ses[serve]"):
        from ses.service.run import run
    from ses.service.settings import load_service_settings

    settings = load_service_settings(host=host, port=port, workers=workers)
    run(open_library(options), settings, _announce)


def _announce(address: str, error: SesError | None) -> None:
    if error:
        click.echo(message_of(error), err=True)
    click.echo(f"The page is at {address}" + (", and waits for that." if error else ""))
