"""Requests over HTTP: with timeouts, over connections that are kept, with answers that have an end, and asked again.

No redirect is followed unless it is safe: it could lead credentials to another host, or a document over plain http.
"""

from __future__ import annotations

import ipaddress
import re
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import SplitResult, urljoin, urlsplit

from corpora.errors import InputError, UnavailableError, require

if TYPE_CHECKING:
    from ssl import SSLContext

    from urllib3 import BaseHTTPResponse, PoolManager

BUSY = (408, 429, 500, 502, 503, 504)
"""Statuses after which the same request may succeed."""

_REDIRECTS = (301, 302, 303, 307, 308)
_MOST_REDIRECTS = 5
_CHUNK = 1 << 16
_THREADS = 20
"""Connections to one host that are kept."""

_CONNECTION = re.compile(r"^HTTPS?Connection(Pool)?\(.*?\): ")

T = TypeVar("T")


class TransientError(Exception):
    """A request that failed, and may succeed at another time.

    Args:
        reason: Why it failed.
        wait: Seconds after which the server wants it again; None if it does not say.
    """

    def __init__(self, reason: str, wait: float | None = None) -> None:
        super().__init__(reason, wait)
        self.reason, self.wait = reason, wait


class EndlessError(Exception):
    """An answer that is larger, or takes longer, than it may."""


class HttpClient:
    """Sends requests; threads may share it. The errors are those of urllib3, such as `HTTPError`.

    Args:
        connect: How long a connection may take (seconds).
        read: How long the server may send nothing (seconds).
        proxies: Whether the proxies are used that the environment names.
        tls: What is trusted; by default, what the machine trusts.
    """

    def __init__(self, connect: float, read: float, *, proxies: bool, tls: SSLContext | None = None) -> None:
        self._connect, self._read, self._proxies, self._tls = connect, read, proxies, tls
        self._pools: dict[str, PoolManager] = {}

    @contextmanager
    def send(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes | None = None
    ) -> Iterator[BaseHTTPResponse]:
        """Send a request once, and give its answer, of which the body is not read yet."""
        import urllib3

        timeout = urllib3.Timeout(connect=self._connect, read=self._read)
        reply = self._pool(url).request(
            method, url, body, headers=headers, timeout=timeout, retries=False, redirect=False, preload_content=False
        )
        try:
            yield reply
        finally:
            # A body that was read whole has given its connection back. The rest of another would be the next answer.
            reply.close()

    @contextmanager
    def follow(
        self, url: str, headers: Callable[[str], Mapping[str, str]], safe: Callable[[str, str], bool]
    ) -> Iterator[BaseHTTPResponse]:
        """Ask for a document, wherever it has moved to, and yield the answer.

        `headers` returns the headers for an address, since secret ones are for one host, and `safe` whether an address
        may lead on to another one. Raises `UnavailableError` if a redirect is not safe, or there are too many.
        """
        address = url
        for _ in range(_MOST_REDIRECTS + 1):
            with self.send("GET", address, headers(address)) as reply:
                target = reply.headers.get("Location", "") if reply.status in _REDIRECTS else ""
                if not target:
                    yield reply
                    return
            try:
                target = urljoin(address, target)
                followed = bool(address_of(target)) and safe(address, target)
            except (ValueError, InputError):
                followed = False
            if not followed:
                raise UnavailableError(
                    f"{url} sends us on to {target[:200]}, which is not safe", "ask for its new address"
                )
            address = target
        raise UnavailableError(f"{url} sends us on more than {_MOST_REDIRECTS} times", "ask for its new address")

    def close(self) -> None:
        """Close all connections."""
        for pool in self._pools.values():
            pool.clear()

    def _pool(self, url: str) -> PoolManager:
        """Return connections to a host, by way of the proxy that the environment names for it."""
        import urllib3

        proxy, parts = "", urlsplit(url)
        if self._proxies and not urllib.request.proxy_bypass(parts.hostname or ""):
            proxy = urllib.request.getproxies().get(parts.scheme, "")
        if proxy not in self._pools:
            kept: dict[str, Any] = {"maxsize": _THREADS, "ssl_context": self._tls}
            self._pools[proxy] = urllib3.ProxyManager(proxy, **kept) if proxy else urllib3.PoolManager(**kept)
        return self._pools[proxy]


def read_all(reply: BaseHTTPResponse, largest: int, seconds: float) -> bytes:
    """Return the body of an answer, unpacked, or raise `EndlessError` if it is larger or takes longer."""
    deadline = time.monotonic() + seconds
    pieces, size = [], 0
    # What has come so far, so that the deadline also ends an answer that comes byte by byte.
    while piece := reply.read1(_CHUNK, decode_content=True):
        pieces.append(piece)
        size += len(piece)
        if size > largest:
            raise EndlessError(f"has more than {largest >> 20:,} MiB")
        if time.monotonic() > deadline:
            raise EndlessError(f"takes more than {seconds:g} s")
    return b"".join(pieces)


def retried(request: Callable[[], T], tries: int, pause: Callable[[TransientError, int], object]) -> T:
    """Return what a request returns, and make it again while it raises `TransientError`.

    It is made `tries` times at most; then the last error is raised. Before it is made again, `pause` waits: it receives
    the error and how often the request was made, and may raise to end.
    """
    for attempt in range(1, tries):
        try:
            return request()
        except TransientError as error:
            failed = error
        pause(failed, attempt)
    return request()


def seconds_of(text: str) -> float | None:
    """Return the seconds of a header such as Retry-After; None if it holds anything else, such as a date."""
    return float(text) if text.isascii() and text.isdecimal() and len(text) < 10 else None


def reason_of(error: Exception) -> str:
    """Return the first line of what an error of a connection says."""
    # urllib3 puts what it raises after its own sentence, as in ("Connection aborted.", ConnectionResetError(...)).
    said = next((one for one in error.args if isinstance(one, str)), str(error))
    line = (said.splitlines() or [type(error).__name__])[0]
    return _CONNECTION.sub("", line)[:200].rstrip(".")


def address_of(url: str) -> SplitResult:
    """Return the parts of an address of the web, or raise `InputError` if it is none."""
    from urllib3.util import parse_url

    try:
        parse_url(url)  # also checks the names of hosts and the numbers of ports
        parts = urlsplit(url)
        known = parts.scheme in ("http", "https") and parts.hostname
    except ValueError:
        known = False
    require(known, f"{url[:200]!r} is no address of the web", "write it as https://HOST/PATH")
    return parts


def is_loopback(url: str) -> bool:
    """Return whether an address is one of this machine."""
    name = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return name == "localhost" or name.endswith(".localhost")
