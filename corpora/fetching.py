"""Asks a server on the web for one document at a time, politely: waits when told to, and takes no more than it should.

A server that is busy answers 429 or 503 and may say when to come back (RFC 9110, section 10.2.3). Redirects are
followed, but never from https to http. Credentials stay with the host they are for.
"""

from __future__ import annotations

import email.utils
import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from urllib.parse import urlencode, urlsplit

from corpora.errors import InputError, UnavailableError, require
from corpora.http_client import (
    BUSY,
    EndlessError,
    HttpClient,
    TransientError,
    address_of,
    is_loopback,
    read_all,
    reason_of,
    retried,
    seconds_of,
)
from corpora.obtaining import Visitor

TRIES = 6
"""How often one document is asked for."""

LONGEST_WAIT = 15 * 60
"""In seconds; a server that asks for more is left alone until the user comes back."""

LARGEST_REPLY = 64 << 20
"""Most bytes of a reply, unpacked."""

_LONGEST_REPLY = 600.0
_CONNECT_SECONDS, _READ_SECONDS = 15.0, 120.0


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
        self._client = HttpClient(_CONNECT_SECONDS, _READ_SECONDS, proxies=True)
        self._answered = False

    def get(self, url: str, query: Mapping[str, str]) -> Reply:
        """Return the status and bytes of an answer, also if it is an error of which a new request would change nothing.

        `query` holds names and values to add to the address. Raises `InputError` if the address is none of the web, or
        credentials would be sent in plain text, and `UnavailableError` if the server can't be reached, is busy for too
        long, breaks off, or sends too much.
        """
        self._check(url)
        address = f"{url}{'&' if '?' in url else '?'}{urlencode(query)}" if query else url
        try:
            reply = retried(lambda: self._once(address), TRIES, partial(self._pause, url))
        except TransientError as error:
            raise UnavailableError(
                f"{url} can't be read ({error.reason})", "run the same command again later"
            ) from error
        # Zotero's way to ask for fewer requests: zotero.org/support/dev/web_api/v3/basics, Rate Limiting.
        if pause := seconds_of(reply.headers.get("backoff", "")):
            self._wait(min(pause, LONGEST_WAIT))
        return reply

    def close(self) -> None:
        """Close all connections."""
        self._client.close()

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

    def _pause(self, url: str, error: TransientError, attempt: int) -> None:
        seconds = error.wait if error.wait is not None else 2.0**attempt
        if seconds > LONGEST_WAIT:
            raise UnavailableError(
                f"{url} asks to come back in {seconds / 60:,.0f} minutes", "run the same command again then"
            )
        logging.getLogger("ses").warning("%s: %s; asking again in %.0f seconds.", url, error.reason, seconds)
        self._wait(seconds)

    def _once(self, url: str) -> Reply:
        import urllib3

        try:
            with self._client.follow(url, partial(self._headers_for, url), _stays_safe) as reply:
                self._answered = True
                if reply.status in BUSY:
                    raise TransientError(f"HTTP {reply.status} {reply.reason or ''}".strip(), _wait_of(reply.headers))
                body = read_all(reply, self._largest, _LONGEST_REPLY)
                return Reply(reply.status, body, {name.lower(): value for name, value in reply.headers.items()})
        except EndlessError as error:
            raise UnavailableError(f"The answer of {url} {error}", "ask those who run it for smaller answers") from None
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
                    f"{url.partition('?')[0]} can't be reached ({reason_of(error)})",
                    "check the address and the network",
                ) from None
            raise TransientError(reason_of(error)) from error

    def _headers_for(self, url: str, address: str) -> dict[str, str]:
        """Return the headers for an address to which a document may have moved; secrets stay with the first host."""
        import urllib3

        headers = {**self._visitor.headers(), "Accept-Encoding": "gzip"}
        if urlsplit(address).netloc != urlsplit(url).netloc:
            return headers
        if self._visitor.username:
            headers |= urllib3.make_headers(basic_auth=f"{self._visitor.username}:{self._visitor.password}")
        return headers | self._headers


def _stays_safe(address: str, target: str) -> bool:
    """Return whether a redirect does not leave https."""
    return target.startswith("https:") or address.startswith("http:")


def _wait_of(headers: Mapping[str, str]) -> float | None:
    """Return the seconds of a header Retry-After, which holds seconds or a date; None without a usable one."""
    text = headers.get("Retry-After", "").strip()
    if (seconds := seconds_of(text)) is not None:
        return seconds
    try:
        date = email.utils.parsedate_to_datetime(text)
    except ValueError:
        return None
    return max(0.0, date.timestamp() - time.time())


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
