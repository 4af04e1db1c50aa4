"""A proxy that makes a real server misbehave: refuse, stall, hang up, or answer something else.

    with FaultProxy("http://127.0.0.1:9201") as proxy:
        proxy.fail(status=429, times=2, match="_bulk")
        client = connect(proxy.url)

Everything else goes through as it came: method, path, query, headers and bytes, over connections that are kept alive.
"""

from __future__ import annotations

import gzip
import json
import math
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple, Self, TypeAlias
from urllib.parse import urlsplit

ALWAYS = math.inf
"""For `times`."""

Headers: TypeAlias = list[tuple[str, str]]

# These speak of one connection, not of the message (RFC 9110, section 7.6.1).
_HOP_BY_HOP = {"connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade"}
# Bodies are read whole, so their framing is made anew.
_FRAMING = {"content-length", "expect"}


class Request(NamedTuple):
    """What a client sent, forwarded or not; the path is with its query."""

    method: str
    path: str
    body: bytes


@dataclass(frozen=True, slots=True)
class Reply:
    """What is answered."""

    status: int
    headers: Headers
    body: bytes


Handler: TypeAlias = Callable[[Request, Callable[[], Reply | None]], Reply | None]
"""Is given a request and what forwards it; returns the reply, or None to hang up."""


@dataclass(slots=True)
class _Planned:
    """A fault, or the seconds of a delay, for the next requests that match."""

    fault: Handler | float
    match: str
    left: float


class FaultProxy:
    """Stands before a server on a port of its own, and does what it is told to the next requests that match.

    A fault is for the next `times` requests whose line, such as `POST /papers/_bulk?refresh=true`, contains `match`. A
    request meets at most one delay and one of the other faults, in the order they were told.
    """

    def __init__(self, target_url: str) -> None:
        target = urlsplit(target_url)
        if target.scheme != "http" or not target.hostname or target.path.strip("/"):
            raise ValueError(f"The proxy forwards to http://HOST:PORT, which {target_url!r} is not.")
        self._target = (target.hostname, target.port or 80)
        self._lock = threading.Lock()
        self._requests: list[Request] = []
        self._planned: list[_Planned] = []
        self._errors: list[Exception] = []
        self._closing = threading.Event()
        self._server = _Server(self)

    @property
    def url(self) -> str:
        """Where clients are to connect."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def requests(self) -> list[Request]:
        """What has come in so far, in order."""
        with self._lock:
            return list(self._requests)

    def fail(
        self,
        *,
        status: int,
        times: float = 1,
        match: str = "",
        headers: Mapping[str, str] | None = None,
        body: object = None,
    ) -> None:
        """Answer in the server's place; a body of bytes is sent as it is, any other as JSON."""
        if body is None:
            body = {"error": {"type": "injected_fault", "reason": f"status {status} by the proxy"}, "status": status}
        given = {name.title(): value for name, value in (headers or {}).items()}
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        reply = Reply(status, list(({"Content-Type": "application/json"} | given).items()), content)
        self.handle(lambda request, forward: reply, times=times, match=match)

    def cut(self, *, times: float = 1, match: str = "", after_forward: bool = False) -> None:
        """Close the connection without an answer, before or after the server did the work."""
        self.handle(lambda request, forward: _forgotten(forward) if after_forward else None, times=times, match=match)

    def rewrite(self, function: Callable[[Any], Any], *, times: float = 1, match: str = "") -> None:
        """Replace the JSON of the server's reply by what the function returns for it."""
        self.handle(lambda request, forward: _rewritten(forward(), function), times=times, match=match)

    def handle(self, handler: Handler, *, times: float = 1, match: str = "") -> None:
        """Let a function see to requests: it may do what it likes before, while and after the server works on them."""
        self._plan(handler, times, match)

    def delay(self, seconds: float, *, times: float = 1, match: str = "") -> None:
        """Hold requests back before they are forwarded or meet another fault."""
        self._plan(seconds, times, match)

    def clear(self) -> None:
        """Forget the faults that are left."""
        with self._lock:
            self._planned.clear()

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, kind: object, error: object, traceback: object) -> None:
        self._closing.set()
        self._server.shutdown()
        self._server.server_close()
        # Such as a rewrite that did not fit the reply: the client saw no more than a cut, so the test is told here.
        if self._errors and error is None:
            raise self._errors[0]

    def answer(self, request: Request, headers: Headers) -> Reply | None:
        """Return what to answer, or None to hang up."""
        with self._lock:
            self._requests.append(request)
            delay = self._take(request, delays=True)
            fault = self._take(request, delays=False)
        if isinstance(delay, float | int):
            self._closing.wait(delay)
        if self._closing.is_set():
            return None
        if callable(fault):
            return fault(request, lambda: self._forward(request, headers))
        return self._forward(request, headers)

    def failed(self, error: Exception) -> None:
        """Keep an error of the proxy's own for the end of the block."""
        with self._lock:
            self._errors.append(error)

    def _plan(self, fault: Handler | float, times: float, match: str) -> None:
        with self._lock:
            self._planned.append(_Planned(fault, match, times))

    def _take(self, request: Request, *, delays: bool) -> Handler | float | None:
        line = f"{request.method} {request.path}"
        for planned in self._planned:
            if planned.left > 0 and planned.match in line and callable(planned.fault) != delays:
                planned.left -= 1
                return planned.fault
        return None

    def _forward(self, request: Request, headers: Headers) -> Reply | None:
        """Return the reply, or None if the server is gone: the client then sees what it would without the proxy."""
        connection = HTTPConnection(*self._target)
        try:
            connection.putrequest(request.method, request.path, skip_host=True, skip_accept_encoding=True)
            for name, value in _without(headers, _HOP_BY_HOP | _FRAMING):
                connection.putheader(name, value)
            if any(name.lower() in ("content-length", "transfer-encoding") for name, _ in headers):
                connection.putheader("Content-Length", str(len(request.body)))
            connection.endheaders(request.body or None)
            reply = connection.getresponse()
            # What answers HEAD has no body, but the length that one would have.
            dropped = _HOP_BY_HOP if request.method == "HEAD" else _HOP_BY_HOP | _FRAMING
            return Reply(reply.status, _without(reply.getheaders(), dropped), reply.read())
        except (OSError, HTTPException):
            return None
        finally:
            connection.close()


def _without(headers: Headers, names: set[str]) -> Headers:
    return [(name, value) for name, value in headers if name.lower() not in names]


def _forgotten(forward: Callable[[], object]) -> None:
    forward()


def _rewritten(reply: Reply | None, function: Callable[[Any], Any]) -> Reply | None:
    if reply is None:
        return None
    zipped = ("content-encoding", "gzip") in [(name.lower(), value.lower()) for name, value in reply.headers]
    value = function(json.loads(gzip.decompress(reply.body) if zipped else reply.body))
    return Reply(reply.status, _without(reply.headers, {"content-encoding"}), json.dumps(value).encode())


class _Server(ThreadingHTTPServer):
    # socketserver's five are too few for a client with many workers.
    request_queue_size = 128

    def __init__(self, proxy: FaultProxy) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.proxy = proxy

    def handle_error(self, request: object, client_address: object) -> None:
        error = sys.exception()
        # A client that gave up waiting is what many tests are about.
        if isinstance(error, Exception) and not isinstance(error, ConnectionError):
            self.proxy.failed(error)


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"
    # An answer leaves in one piece: a body apart from its head would wait for a delayed acknowledgement.
    wbufsize = -1

    def __getattr__(self, name: str) -> Callable[[], None]:
        # http.server looks for do_GET and the like; here every method is served alike.
        if name.startswith("do_"):
            return self._serve
        raise AttributeError(name)

    def _serve(self) -> None:
        request = Request(self.command, self.path, self._read_body())
        reply = self.server.proxy.answer(request, self.headers.items())
        if reply is None:
            self.close_connection = True
            return
        self.send_response_only(reply.status)
        for name, value in reply.headers:
            self.send_header(name, value)
        has_body = self.command != "HEAD" and reply.status not in (204, 304)
        if has_body:
            self.send_header("Content-Length", str(len(reply.body)))
        self.end_headers()
        if has_body:
            self.wfile.write(reply.body)

    def _read_body(self) -> bytes:
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        body = bytearray()
        while size := int(self.rfile.readline().partition(b";")[0], 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        while self.rfile.readline().strip():
            pass
        return bytes(body)
