"""The socket that a service listens on, or a sentence on why it can't."""

from __future__ import annotations

import errno
import socket
from ipaddress import ip_address
from typing import TYPE_CHECKING

from corpora.errors import InputError, SesError, UnavailableError

if TYPE_CHECKING:
    from ses.service.settings import ServiceSettings

_BACKLOG = 2048


def listen(settings: ServiceSettings) -> socket.socket:
    """Return a socket that listens where the settings say.

    Args:
        settings: The host and the port.

    Returns:
        The socket.

    Raises:
        InputError: If there is no such address, or this machine has not got it.
        UnavailableError: If another program uses the port, or the system does not allow it.
    """
    host, port = settings.host, settings.port
    try:
        family, _, _, _, place = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
    except (socket.gaierror, UnicodeError) as error:
        hint = "give the name or the address of this machine as <host>"
        raise InputError(f"The address {host!r} can't be found", hint) from error
    made = socket.socket(family, socket.SOCK_STREAM)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(place)
        made.listen(_BACKLOG)
    except OSError as error:
        made.close()
        raise _explained(error, host, port) from error
    return made


def _explained(error: OSError, host: str, port: int) -> SesError:
    if error.errno == errno.EADDRINUSE:
        return UnavailableError(f"Another program uses port {port} of {host}", "stop it, or choose another <port>")
    if error.errno == errno.EADDRNOTAVAIL:
        return InputError(f"{host} is not an address of this machine", "give another <host>")
    if error.errno == errno.EACCES:
        hint = "choose a <port> of 1024 or more"
        return UnavailableError(f"The system does not allow ses to use port {port}", hint)
    return UnavailableError(f"ses can't listen on port {port} of {host} ({error.strerror})", "choose another <port>")


def address_of(listening: socket.socket, root_path: str) -> str:
    """Return the address of the page, for a reader on this machine."""
    host, port = listening.getsockname()[:2]
    shown = ip_address(host.partition("%")[0])
    if shown.is_unspecified:
        shown = ip_address("::1" if shown.version == 6 else "127.0.0.1")
    return f"http://{f'[{shown}]' if shown.version == 6 else shown}:{port}{root_path}/"
