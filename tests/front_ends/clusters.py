"""A library on a real cluster, with a service, for front ends to search."""

from __future__ import annotations

import socket
import time
from contextlib import contextmanager, suppress
from random import SystemRandom
from typing import TYPE_CHECKING

import pytest

import ses
from tests.conftest import server_url
from tests.engines.conftest import empty
from tests.ses.service.test_attacks import serving
from tests.tiny import make_model, papers

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from corpora.paper import Paper


def lanes(*names):
    """The parameters of a fixture that is for each of these lanes."""
    return [pytest.param(name, marks=getattr(pytest.mark, name)) for name in names]


def product(lane: str) -> str:
    """The product of a lane's server: opensearch or elasticsearch."""
    return lane.rstrip("29")


@contextmanager
def on_cluster(lane: str, folder: Path, *more: Paper, has_table: bool = False) -> Iterator[tuple[ses.OpenIndex, str]]:
    """The index `papers` of 60 papers and some more on a lane's server, and the address of a service over it.

    Its model is a tiny one, or the default model, for which there is a table of queries.
    """
    model = {} if has_table else {"model": str(make_model(folder / "model"))}
    library = ses.open(server_url(lane), data_dir=folder / "data", cache_dir=folder / "cache", index="papers", **model)
    empty(library._engine)
    library.index("papers", [*papers(60), *more])
    with serving(library) as (host, port):
        yield library["papers"], f"http://{host}:{port}"
    empty(library._engine)


def free_port() -> int:
    """A port that nothing listens on, below those that the system gives to others before it is taken."""
    for port in SystemRandom().sample(range(20_000, 32_000), 100):
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port
    raise AssertionError("no port is free")


def wait_for(port: int) -> None:
    """Wait until something listens on a port."""
    for _ in range(1000):
        with socket.socket() as tried:
            if tried.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.02)
    raise TimeoutError(port)
