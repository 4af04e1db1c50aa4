"""Asks a server on the web for one document at a time, politely: waits when told to, and takes no more than it should.

A server that is busy answers 429 or 503 and may say when to come back (RFC 9110, section 10.2.3). Redirects are
followed, but never from https to http. Credentials stay with the host they are for.
"""

from __future__ import annotations

import email.utils
import logging
import re
import time
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, urlencode, urljoin, urlsplit

from corpora.errors import InputError, UnavailableError, require
from corpora.installed import installed_version

if TYPE_CHECKING:
    import urllib3

TRIES = 6
"""How often one document is asked for."""

LONGEST_WAIT = 15 * 60
"""In seconds; a server that asks for more is left alone until the user comes back."""

LARGEST_REPLY = 64 << 20
"""In bytes, unpacked."""

_LONGEST_REPLY = 600.0
_CONNECT_SECONDS, _READ_SECONDS = 15.0, 120.0
_MOST_REDIRECTS = 5
_BUSY = (408, 429, 500, 502, 503, 504)
_REDIRECTS = (301, 302, 303, 307, 308)
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_CHUNK = 1 << 16


@dataclass(frozen=True, slots=True)
class Visitor:
    """Who asks.

    Attributes:
        contact: Address of a person, which servers want to know; not sent if empty.
        username: For a server with basic authentication; empty for others.
        password: Password of that user.
    """

    contact: str = ""
    username: str = ""
    password: str = field(default="", repr=False)

    def headers(self) -> dict[str, str]:
        """Return the name and version of the program, and the contact."""
        name = f"ses/{installed_version('ses') or '0'}"
        return {"User-Agent": f"{name} (mailto:{self.contact})" if self.contact else name}


@dataclass(frozen=True, slots=True)
class Reply:
    """A document.

    Attributes:
        status: The status it came with.
        body: Its bytes, unpacked.
        headers: Its headers, by their names in lower case.
    """

    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)


class Fetcher:
    """Asks one server.

    Args:
        visitor: Who asks.
        wait: Waits for so many seconds.
        largest: Largest document to take, in bytes.
        headers: Further headers, which may be secret, so they are sent to the host of the address alone.
    """

    def __init__(
        self,
        visitor: Visitor,
        wait: Callable[[float], None] = time.sleep,
        largest: int = LARGEST_REPLY,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self._visitor, self._wait, self._largest, self._headers = visitor, wait, largest, dict(headers or {})
        self._pools: dict[str, urllib3.PoolManager] = {}
        self._answered = False

    def get(self, url: str, query: Mapping[str, str]) -> Reply:
        """Return what a server answers, also if it is an error of which a new request would change nothing.

        Args:
            url: Address of the document.
            query: Names and values to add to it.

        Returns:
            Status and bytes.

        Raises:
            InputError: If the address is none of the web, or credentials would be sent in plain text.
            UnavailableError: If the server can't be reached, is busy for too long, breaks off, or sends too much.
        """
        self._check(url)
        asked = f"{url}{'&' if '?' in url else '?'}{urlencode(query)}" if query else url
        reason = ""
        wanted: float | None = None
        for attempt in range(TRIES):
            if attempt:
                seconds = wanted if wanted is not None else 2.0**attempt
                logging.getLogger("ses").warning("%s: %s; asking again in %.0f seconds.", url, reason, seconds)
                self._wait(seconds)
            wanted = None
            try:
                answer = self._follow(asked)
            except _BrokenError as error:
                reason = str(error)
                continue
            if isinstance(answer, Reply):
                # Zotero's way to ask for fewer requests: zotero.org/support/dev/web_api/v3/basics, Rate Limiting.
                if pause := _seconds(answer.headers.get("backoff", "")):
                    self._wait(min(pause, LONGEST_WAIT))
                return answer
            reason, wanted = answer
            if wanted is not None and wanted > LONGEST_WAIT:
                raise UnavailableError(
                    f"{url} asks to come back in {wanted / 60:,.0f} minutes", "run the same command again then"
                )
        raise UnavailableError(f"{url} can't be read ({reason})", "run the same command again later")

    def _check(self, url: str) -> None:
        parts = address_of(url)
        require(
            "@" not in parts.netloc,
            "An address with a password in it would be seen by everyone",
            "leave it out, and set SES_HARVEST_USERNAME and SES_HARVEST_PASSWORD",
        )
        plain = parts.scheme == "http" and not is_loopback(url)
        require(
            not ((self._visitor.username or self._headers) and plain),
            f"The credentials would be sent to {parts.hostname} in plain text",
            "use an address that begins with https",
        )

    def _follow(self, url: str) -> Reply | tuple[str, float | None]:
        """Return a document, or why there is none and how many seconds the server wants us to wait."""
        asked = url
        for _ in range(_MOST_REDIRECTS + 1):
            answer = self._once(asked, with_credentials=urlsplit(asked).netloc == urlsplit(url).netloc)
            if not isinstance(answer, str):
                return answer
            try:
                target = urljoin(asked, answer)
                scheme = address_of(target).scheme
            except (ValueError, InputError):
                target, scheme = answer, ""
            if scheme != "https" and not (scheme == "http" and urlsplit(asked).scheme == "http"):
                raise UnavailableError(
                    f"{url} sends us on to {target[:200]}, which is not safe", "ask for its new address"
                )
            asked = target
        raise UnavailableError(f"{url} sends us on more than {_MOST_REDIRECTS} times", "ask for its new address")

    def _once(self, url: str, *, with_credentials: bool) -> Reply | str | tuple[str, float | None]:
        import urllib3

        headers = {**self._visitor.headers(), "Accept-Encoding": "gzip"}
        if with_credentials:
            headers |= self._headers
        if with_credentials and self._visitor.username:
            headers |= urllib3.make_headers(basic_auth=f"{self._visitor.username}:{self._visitor.password}")
        timeout = urllib3.Timeout(connect=_CONNECT_SECONDS, read=_READ_SECONDS)
        try:
            reply = self._pool(url).request(
                "GET", url, headers=headers, timeout=timeout, retries=False, redirect=False, preload_content=False
            )
            self._answered = True
            try:
                if reply.status in _REDIRECTS and (target := reply.headers.get("Location")):
                    return target
                if reply.status in _BUSY:
                    return f"HTTP {reply.status} {reply.reason or ''}".strip(), _wait_of(reply.headers)
                return Reply(
                    reply.status,
                    self._read(reply, url),
                    {name.lower(): value for name, value in reply.headers.items()},
                )
            finally:
                reply.release_conn()
        except (urllib3.exceptions.HTTPError, OSError) as error:
            if isinstance(error.__cause__, ConnectionRefusedError) and is_loopback(url):
                raise UnavailableError(
                    f"{url.partition('?')[0]} can't be read: nothing answers there",
                    "start the program, or check the address",
                ) from None
            late, wrong = urllib3.exceptions.TimeoutError, (urllib3.exceptions.SSLError, ValueError)
            cause = error.original_error if isinstance(error, urllib3.exceptions.ProxyError) else error
            if isinstance(cause, wrong) or (isinstance(cause, late) and not self._answered):
                # An address that never worked is more often wrong than away, and a certificate stays as it is.
                raise UnavailableError(
                    f"{url.partition('?')[0]} can't be reached ({_first_line(error)})",
                    "check the address and the network",
                ) from None
            raise _BrokenError(_first_line(error)) from error

    def _read(self, reply: urllib3.BaseHTTPResponse, url: str) -> bytes:
        deadline = time.monotonic() + _LONGEST_REPLY
        pieces, size = [], 0
        # What has come so far, so that the deadline also ends an answer that comes byte by byte.
        while piece := reply.read1(_CHUNK, decode_content=True):
            pieces.append(piece)
            size += len(piece)
            if size > self._largest or time.monotonic() > deadline:
                reply.close()
                much = f"more than {self._largest >> 20:,} MiB" if size > self._largest else "a document without end"
                raise UnavailableError(f"{url} sends {much} at once", "ask those who run it for smaller answers")
        return b"".join(pieces)

    def _pool(self, url: str) -> urllib3.PoolManager:
        """Return connections to a host, by way of the proxy that the environment names for it."""
        import urllib3

        parts = urlsplit(url)
        bypassed = urllib.request.proxy_bypass(parts.hostname or "")
        proxy = "" if bypassed else urllib.request.getproxies().get(parts.scheme, "")
        if proxy not in self._pools:
            self._pools[proxy] = urllib3.ProxyManager(proxy) if proxy else urllib3.PoolManager()
        return self._pools[proxy]

    def close(self) -> None:
        """Close all connections."""
        for pool in self._pools.values():
            pool.clear()


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


class _BrokenError(Exception):
    """A request that got no whole answer, and may get one at another time."""


def _wait_of(headers: Mapping[str, str]) -> float | None:
    """Return the seconds of a header Retry-After, which holds seconds or a date; None without a usable one."""
    text = headers.get("Retry-After", "").strip()
    if (seconds := _seconds(text)) is not None:
        return seconds
    try:
        moment = email.utils.parsedate_to_datetime(text)
    except ValueError:
        return None
    return max(0.0, moment.timestamp() - time.time())


def _seconds(text: str) -> float | None:
    return float(text) if text.isdecimal() and len(text) < 10 else None


def is_loopback(url: str) -> bool:
    """Return whether an address is one of this machine."""
    return urlsplit(url).hostname in _LOOPBACK


def _first_line(error: Exception) -> str:
    # urllib3 puts what it raises after its own sentence, as in ("Connection aborted.", ConnectionResetError(...)).
    said = next((one for one in error.args if isinstance(one, str)), str(error))
    line = (said.splitlines() or [type(error).__name__])[0]
    return _CONNECTION.sub("", line)[:200].rstrip(".")


_CONNECTION = re.compile(r"^HTTPS?Connection(Pool)?\(.*?\): ")


def checked_status(url: str, reply: Reply) -> Reply:
    """Return a reply, or raise `InputError` or `UnavailableError` if its status says that it is an error."""
    if reply.status in (401, 403):
        raise UnavailableError(
            f"{url} refuses us (HTTP {reply.status})", "set SES_HARVEST_USERNAME and SES_HARVEST_PASSWORD"
        )
    if reply.status == 404:
        raise InputError(f"There is nothing at {url} (HTTP 404)", "check <path>")
    if reply.status != 200:
        raise UnavailableError(f"{url} answers with HTTP {reply.status}", "check <path>, or try again later")
    return reply
