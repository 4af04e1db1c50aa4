"""Serve an assistant over standard input and output, or over HTTP on this machine."""

from __future__ import annotations

import socket
from collections.abc import Callable

from corpora.errors import InputError, UnavailableError
from ses.assistants.server import http_app, make_server
from ses.assistants.tools import Assistant

_HERE = ("127.0.0.1", "localhost")


def run_stdio(assistant: Assistant) -> None:
    """Answer on standard output what is asked on standard input, until that ends.

    Standard output holds the protocol alone: meanwhile, the SDK sends what else is printed to standard error. Raises
    `BrokenPipeError` if the assistant no longer reads the answers.
    """
    try:
        make_server(assistant).run("stdio")
    except ExceptionGroup as group:
        # The tasks of the SDK report a closed pipe as a group, of which the command line knows nothing.
        if group.split(BrokenPipeError)[1] is None:
            raise BrokenPipeError from group
        raise


def run_http(assistant: Assistant, place: str, announce: Callable[[str], None]) -> None:
    """Answer over HTTP until the process is asked to stop.

    There are no keys here, so only this machine is served: the place is `HOST:PORT`, or `PORT`, 0 for any that is free.
    `announce` receives the address of the server. Raises `InputError` if the place is not on this machine, and
    `UnavailableError` if another program uses the port.
    """
    app = http_app(assistant)
    import uvicorn

    host, port = _place(place)
    try:
        listening = socket.create_server((host, port))
    except OSError as error:
        raise UnavailableError(f"ses can't listen on port {port} ({error.strerror})", "choose another port") from error
    with listening:
        announce(f"http://{host}:{listening.getsockname()[1]}/mcp")
        uvicorn.Server(uvicorn.Config(app, log_level="warning", access_log=False)).run([listening])


def _place(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    host = host or _HERE[0]
    if not (port.isascii() and port.isdecimal() and int(port[:6]) <= 65_535):
        raise InputError(f"{text!r} is no address to listen on", "write it as 127.0.0.1:PORT, or PORT alone")
    if host not in _HERE:
        raise InputError(
            f"{host} may be another machine's way to this one, and there are no keys here",
            "listen on 127.0.0.1, or serve other machines with the setting mcp of the service",
        )
    return host, int(port)
