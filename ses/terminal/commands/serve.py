"""`ses serve`."""

from __future__ import annotations

import os
from functools import partial
from typing import Any, get_args

import rich_click as click

from corpora.errors import SesError
from corpora.installed import extra, needing
from ses.service.keys import Scope, keys_of
from ses.service.settings import ServiceSettings, is_public, load_service_settings, warnings_of
from ses.settings import load_settings
from ses.terminal.messages import message_of
from ses.terminal.options import (
    default_index_option,
    described_options,
    engine_option,
    given_of,
    json_option,
    model_options,
    open_library,
)
from ses.terminal.results import say, tell


@click.group(invoke_without_command=True)
@described_options(ServiceSettings, "host", "port", "workers")
@default_index_option
@model_options
@engine_option
@click.pass_context
def serve(context: click.RichContext, /, index: str | None, **options: Any) -> None:
    """Serve the indexes of an engine over HTTP.

    There is a web page for readers, and an API for programs. Further settings are in the table [serve] of ses.toml, and
    in the environment as SES_SERVE_NAME.
    """
    if context.invoked_subcommand:
        return
    # Before numpy: each request has a thread already, and small matrices gain nothing by more but waiting.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    with needing("The service needs FastAPI and uvicorn, which are not installed", extra("serve")):
        from ses.service.run import run
    settings = load_service_settings(**given_of(ServiceSettings, options))
    library = open_library(options, index)
    for sentence in warnings_of(settings, keys_of(library.data_dir)):
        tell(f"Warning: {sentence}", err=True)
    run(library, settings, partial(_announce, settings))


def _announce(settings: ServiceSettings, address: str, index: str, error: SesError | None) -> None:
    if error:
        tell(message_of(error), err=True)
    tell(f"The page is at {address}" + (", and waits for that." if error else ""))
    if index:
        whom = "Other machines can reach it." if is_public(settings.host) else "Only this machine can reach it."
        tell(f"It searches the index {index}. {whom}")


@serve.group()
def keys() -> None:
    """Create, list and revoke the API keys of the service.

    A running service sees each change at once.
    """


@keys.command()
@click.argument("name")
@click.option(
    "--scope",
    "scopes",
    type=click.Choice(get_args(Scope)),
    multiple=True,
    required=True,
    help="What the key allows: search and read, encode texts, write what is kept, or admin; repeatable.",
)
@click.option("--days", type=int, default=0, metavar="N", help="Days until it expires; 0 for never [default: 0].")
@json_option
def create(name: str, scopes: tuple[Scope, ...], days: int, *, as_json: bool) -> None:
    """Create a key for NAME, and print it. It is shown only now, since no more than its hash is kept."""
    key = keys_of(_data_dir()).create(name, scopes, days=days)
    say({"name": name, "key": key}, [key], as_json=as_json)


@keys.command(name="list")
@json_option
def list_(*, as_json: bool) -> None:
    """List the keys: the public id of each, its name, scopes and dates."""
    found = sorted(keys_of(_data_dir()).all().values(), key=lambda one: one.name)
    rows = [
        {"id": one.id, "name": one.name, "scopes": one.scopes, "created": one.created, "expires": one.expires or None}
        for one in found
    ]
    lines = [
        f"{one.name}: ses_{one.id}_..., {', '.join(one.scopes)}, created {one.created[:10]}, "
        + (f"expires {one.expires[:10]}" if one.expires else "never expires")
        for one in found
    ]
    none = "No keys yet; make one with `ses serve keys create NAME --scope search`."
    say({"keys": rows}, lines or [none], as_json=as_json)


@keys.command()
@click.argument("name")
@json_option
def revoke(name: str, *, as_json: bool) -> None:
    """Revoke a key by its name or its public id: the service refuses it from now on."""
    keys_of(_data_dir()).revoke(name)
    say({"revoked": name}, [f"Revoked {name}."], as_json=as_json)


def _data_dir() -> Any:
    return load_settings().data_dir
