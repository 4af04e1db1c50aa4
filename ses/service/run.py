"""Run the service under uvicorn, in one process or in several."""

from __future__ import annotations

import copy
import functools
import logging
import math
import os
import signal
import socket
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from corpora.errors import NotFoundError, SesError
from ses.service.connections import GuardedProtocol, GuardedServer
from ses.service.listening import address_of, listen
from ses.service.logs import CONFIGURATION
from ses.service.workers import left_threads, supervise

if TYPE_CHECKING:
    from ses.library import Library
    from ses.service.settings import ServiceSettings

_LEAVING_SECONDS = 1.0
"""How long threads that have nothing more to do may take to end."""

Announce = Callable[[str, SesError | None], None]

OPTIONS: Mapping[str, Any] = {
    "http": GuardedProtocol,
    "log_config": CONFIGURATION,
    "access_log": False,  # `RequestLog` writes it
    "proxy_headers": False,  # `Proxies` reads them
    "server_header": False,
}
"""What uvicorn leaves to the layers of ses."""


def run(library: Library, settings: ServiceSettings, announce: Announce) -> None:
    """Serve a library until the process is asked to stop, by SIGTERM or Ctrl-C.

    Args:
        library: The library; several workers open it again.
        settings: Settings of the service.
        announce: Receives the address of the page when it can be searched, and before that, once, why it can't yet.

    Raises:
        InputError: If there is no such address, or the default index does not exist.
        UnavailableError: If another program uses the port, or the engine does not answer.
    """
    _check_default(library)
    with listen(settings) as listening:
        if settings.workers == 1:
            _serve(library, settings, listening, announce)
            return

        def work(number: int) -> None:
            # A connection to a cluster can't be shared by two processes: a copy connects by itself.
            _serve(copy.copy(library), settings, listening, announce if number == 0 else lambda *_: None)

        supervise(work, settings.workers, settings.shutdown_seconds, listening.close)


def _check_default(library: Library) -> None:
    """Raise `InputError` if there are indexes, but not the default one; the first one may be made at any time."""
    try:
        library.default()
    except NotFoundError:
        if library.indexes():
            raise


def _serve(library: Library, settings: ServiceSettings, listening: socket.socket, announce: Announce) -> None:
    import uvicorn

    from ses.service.app import make_app
    from ses.service.service import Service

    address = address_of(listening, settings.root_path)
    service = Service(library, settings, functools.partial(announce, address))
    config = uvicorn.Config(
        make_app(service),
        root_path=settings.root_path,
        timeout_graceful_shutdown=math.ceil(settings.shutdown_seconds),
        **OPTIONS,
    )
    with _signals_end_the_server():
        GuardedServer(config, service).run([listening])
    if left_threads(_LEAVING_SECONDS):
        logging.getLogger("ses.service").warning("Requests that took too long were cut off.")
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        os._exit(0)  # Python would wait for the threads


@contextmanager
def _signals_end_the_server() -> Iterator[None]:
    """Let signals end the server only: uvicorn, when it has stopped, sends them again to the handlers before."""
    before = {number: signal.signal(number, lambda *_: None) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
