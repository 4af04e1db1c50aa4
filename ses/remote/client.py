"""Requests to a service: with credentials that no other host gets, with timeouts, and with retries where they help."""

from __future__ import annotations

import random
import time
import weakref
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode, urlsplit

from corpora.errors import ConflictError, InputError, NotFoundError, SesError, UnavailableError
from corpora.http_client import (
    EndlessError,
    HttpClient,
    TransientError,
    address_of,
    read_all,
    reason_of,
    retried,
    seconds_of,
)
from corpora.lazy import orjson
from search_plugin.contract.connection import CONNECTING, Connection

if TYPE_CHECKING:
    from urllib3 import BaseHTTPResponse

UrlValues = Mapping[str, str | Sequence[str]]
"""The query of a URL; a sequence repeats its name."""

LARGEST = 256 << 20
"""Bytes of an answer, unpacked; a page of 10,000 papers has fewer."""
ATTEMPTS = 4
LONGEST_WAIT = 10.0
"""Seconds between two attempts at most, also if the service asks for more."""

_BUSY = (429, 502, 503, 504)
_KINDS: Mapping[int, type[SesError]] = {
    400: InputError,
    404: NotFoundError,
    409: ConflictError,
    410: InputError,
    413: InputError,
    414: InputError,
    422: InputError,
}


class _RefusedRequestError(TransientError):
    """An answer after which the same request may succeed, as an error to tell."""

    def __init__(self, error: SesError, wait: float | None) -> None:
        super().__init__(error.sentence, wait)
        self.error = error


class ServiceClient:
    """Asks a service; threads may share it.

    Args:
        url: Its URL, with the path under which it is served.
        connection: Credentials, TLS and timeouts; an API key or token is sent as a bearer token.

    Raises:
        InputError: If the URL can't be read.
    """

    def __init__(self, url: str, connection: Connection) -> None:
        self.url = url.rstrip("/")
        try:
            parts = address_of(self.url)
        except InputError:
            parts = urlsplit("")
        if not parts.hostname or "@" in parts.netloc or parts.query:
            shown = url.rpartition("@")[2]
            raise InputError(f"{shown!r} is no URL of a service", "write it as https://HOST/PATH, without a password")
        self._patience, self._timeout = connection.patience, connection.timeout
        self._headers = {"Accept": "application/json", "Accept-Encoding": "gzip"}
        secret = connection.api_key or connection.token
        if authorization := f"Bearer {secret}" if secret else connection.authorization:
            from search_plugin.engines.cluster.product import tell_of_plain_text

            tell_of_plain_text(f"{parts.scheme}://{parts.netloc}")
            self._headers["authorization"] = authorization
        self._client = HttpClient(
            min(connection.timeout, CONNECTING),
            connection.timeout,
            proxies=False,  # one of the environment would see the credentials
            tls=connection.tls_context() if parts.scheme == "https" else None,
        )
        # For a library that nobody closes.
        weakref.finalize(self, self._client.close)

    def get(self, path: str, params: UrlValues | None = None) -> Any:
        """Return the parsed answer to a GET; errors as of `search.search`, with the sentences of the service."""
        return self._ask("GET", f"{path}?{urlencode(params, doseq=True)}" if params else path)

    def post(self, path: str, content: Mapping[str, Any]) -> Any:
        """Return the parsed answer to a POST that changes nothing; errors as of `get`."""
        return self._ask("POST", path, content)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _ask(self, method: str, path: str, content: Mapping[str, Any] | None = None) -> Any:
        until = time.monotonic() + self._patience

        def pause(refused: TransientError, attempt: int) -> None:
            if time.monotonic() > until:
                raise refused
            # Many clients should not come back at the same moment.
            drawn = random.uniform(0.0, min(1.0, 0.1 * 2**attempt))  # noqa: S311 - no secret
            time.sleep(min(refused.wait or 0.0, LONGEST_WAIT) or drawn)

        try:
            return retried(lambda: self._once(method, path, content), ATTEMPTS, pause)
        except _RefusedRequestError as refused:
            raise refused.error from refused

    def _once(self, method: str, path: str, content: Mapping[str, Any] | None) -> Any:
        from urllib3.exceptions import HTTPError

        body = None if content is None else orjson.dumps(content)
        headers = self._headers if body is None else {**self._headers, "Content-Type": "application/json"}
        try:
            with self._client.send(method, f"{self.url}{path}", headers, body) as reply:
                text = read_all(reply, LARGEST, self._timeout)
        except EndlessError as error:
            raise self.odd(f"it {error}") from error
        except HTTPError as error:
            away = UnavailableError(f"The service {self.url} does not answer ({reason_of(error)})", "check <engine>")
            raise _RefusedRequestError(away, None) from error
        try:
            said = orjson.loads(text)
        except orjson.JSONDecodeError:
            said = None
        if reply.status == HTTPStatus.OK:
            if said is None:
                raise self.odd("it is no JSON")
            return said
        refused = self._error(reply, said)
        if reply.status in _BUSY:
            raise _RefusedRequestError(refused, seconds_of(reply.headers.get("Retry-After", "")))
        raise refused

    def odd(self, why: str) -> UnavailableError:
        """Return the error for an answer that no service of ses gives."""
        return UnavailableError(f"The answer of {self.url} can't be read, since {why}", "check <engine>")

    def _error(self, reply: BaseHTTPResponse, body: Any) -> SesError:
        status = reply.status
        if 300 <= status < 400:
            target = reply.headers.get("Location", "")[:200]
            return UnavailableError(f"The service {self.url} has moved to {target!r}", "give its new address")
        kind = _KINDS.get(status, UnavailableError)
        detail, hint = (body.get("detail"), body.get("hint", "")) if isinstance(body, dict) else (None, "")
        if not isinstance(detail, str) or not isinstance(hint, str) or not detail:
            return UnavailableError(f"{self.url} answers with the status {status}", "check <engine>")
        # The detail of a problem is the sentence with its hint.
        end = f"; {hint}."
        return kind(detail.removesuffix(end), hint) if hint and detail.endswith(end) else kind(detail)
