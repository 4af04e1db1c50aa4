"""Requests to a service: with credentials that no other host gets, with timeouts, and with retries where they help."""

from __future__ import annotations

import time
import weakref
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from corpora.errors import ConflictError, InputError, NotFoundError, SesError, UnavailableError
from corpora.installed import extra, needing
from search_plugin.contract.connection import CONNECTING, Connection

if TYPE_CHECKING:
    import httpx
    from tenacity import RetryCallState

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


class _RefusedError(Exception):
    """An answer after which the same request may succeed, and the seconds to wait that it asks for."""

    def __init__(self, error: SesError, wait: float) -> None:
        super().__init__(error, wait)
        self.error, self.wait = error, wait


class ServiceClient:
    """Asks a service; threads may share it.

    Args:
        url: Its URL, with the path under which it is served.
        connection: Credentials, TLS and timeouts; an API key or token is sent as a bearer token.

    Raises:
        InputError: If the URL can't be read.
        UnavailableError: If the extra client isn't installed.
    """

    def __init__(self, url: str, connection: Connection) -> None:
        with needing("A service needs the client of ses, which is not installed", extra("client")):
            import httpx
            import tenacity  # noqa: F401 - used when it asks
        try:
            parsed = httpx.URL(url.rstrip("/"))
        except httpx.InvalidURL:
            parsed = httpx.URL("")
        if parsed.scheme not in ("http", "https") or not parsed.host or parsed.userinfo or parsed.query:
            shown = url.rpartition("@")[2]
            raise InputError(f"{shown!r} is no URL of a service", "write it as https://HOST/PATH, without a password")
        self.url, self._patience = str(parsed), connection.patience
        self._timeout = connection.timeout
        headers = {"accept": "application/json"}
        secret = connection.api_key or connection.token
        if authorization := f"Bearer {secret}" if secret else connection.authorization:
            from search_plugin.engines.cluster.product import tell_of_plain_text

            tell_of_plain_text(f"{parsed.scheme}://{parsed.host}")
            headers["authorization"] = authorization
        self._client = httpx.Client(
            headers=headers,
            timeout=httpx.Timeout(connection.timeout, connect=min(connection.timeout, CONNECTING)),
            verify=connection.tls_context() if parsed.scheme == "https" else False,
            # A redirect could lead the credentials to another host, and so could a proxy or .netrc of the environment.
            follow_redirects=False,
            trust_env=False,
        )
        # For a library that nobody closes.
        weakref.finalize(self, self._client.close)

    def get(self, path: str, params: UrlValues | None = None) -> Any:
        """Return the parsed answer to a GET; errors as of `search.search`, with the sentences of the service."""
        return self._ask("GET", path, params=dict(params or {}))

    def post(self, path: str, content: Mapping[str, Any]) -> Any:
        """Return the parsed answer to a POST that changes nothing; errors as of `get`."""
        return self._ask("POST", path, json=content)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _ask(self, method: str, path: str, **sent: Any) -> Any:
        from tenacity import Retrying, retry_if_exception_type, stop_after_attempt, stop_after_delay

        retrying = Retrying(
            retry=retry_if_exception_type(_RefusedError),
            stop=stop_after_attempt(ATTEMPTS) | stop_after_delay(self._patience),
            wait=_wait,
            reraise=True,
        )
        try:
            return retrying(self._once, method, path, sent)
        except _RefusedError as refused:
            raise refused.error from refused

    def _once(self, method: str, path: str, sent: Mapping[str, Any]) -> Any:
        import httpx
        import orjson

        try:
            with self._client.stream(method, f"{self.url}{path}", **sent) as reply:
                content = self._content(reply)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            # A name that is not found has no text of its own.
            reason = f"{error}" or type(error).__name__
            away = UnavailableError(f"The service {self.url} does not answer ({reason})", "check <engine>")
            raise _RefusedError(away, 0.0) from error
        try:
            body = orjson.loads(content)
        except orjson.JSONDecodeError:
            body = None
        if reply.status_code == 200:
            if body is None:
                raise self.odd("it is no JSON")
            return body
        refused = self._error(reply, body)
        if reply.status_code in _BUSY:
            raise _RefusedError(refused, _seconds(reply.headers.get("retry-after", "")))
        raise refused

    def _content(self, reply: httpx.Response) -> bytes:
        parts, size, end = [], 0, time.monotonic() + self._timeout
        for part in reply.iter_bytes():
            size += len(part)
            if time.monotonic() > end:  # a timeout of httpx is that of one part
                raise self.odd(f"it takes more than {self._timeout:g} s")
            if size > LARGEST:
                raise self.odd(f"it has more than {LARGEST >> 20} MiB")
            parts.append(part)
        return b"".join(parts)

    def odd(self, why: str) -> UnavailableError:
        """Return the error for an answer that no service of ses gives."""
        return UnavailableError(f"The answer of {self.url} can't be read, since {why}", "check <engine>")

    def _error(self, reply: httpx.Response, body: Any) -> SesError:
        status = reply.status_code
        if 300 <= status < 400:
            target = reply.headers.get("location", "")[:200]
            return UnavailableError(f"The service {self.url} has moved to {target!r}", "give its new address")
        kind = _KINDS.get(status, UnavailableError)
        detail, hint = (body.get("detail"), body.get("hint", "")) if isinstance(body, dict) else (None, "")
        if not isinstance(detail, str) or not isinstance(hint, str) or not detail:
            return UnavailableError(f"{self.url} answers with the status {status}", "check <engine>")
        # The detail of a problem is the sentence with its hint.
        end = f"; {hint}."
        return kind(detail.removesuffix(end), hint) if hint and detail.endswith(end) else kind(detail)


def _wait(state: RetryCallState) -> float:
    from tenacity import wait_random_exponential

    error = state.outcome.exception() if state.outcome else None
    asked = error.wait if isinstance(error, _RefusedError) else 0.0
    return min(asked, LONGEST_WAIT) or wait_random_exponential(multiplier=0.1, max=1.0)(state)


def _seconds(text: str) -> float:
    """Return the seconds of a Retry-After; 0 for a date, or anything else."""
    return float(text) if text.isascii() and text.isdecimal() and len(text) < 6 else 0.0
