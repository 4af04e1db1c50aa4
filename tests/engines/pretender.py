"""A server that says it is a search engine: an older one, a broken one, or whatever no real one at hand is."""

from __future__ import annotations

import json
import shutil
import ssl
import subprocess
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

PRODUCT = {"X-Elastic-Product": "Elasticsearch"}


@dataclass(frozen=True, slots=True)
class Answer:
    """A body of bytes is sent as it is, any other as JSON."""

    body: object
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=lambda: PRODUCT)


def version(number, kind):
    """What such a server answers to `GET /`."""
    return Answer({"version": {"number": number, **({"distribution": kind} if kind == "opensearch" else {})}})


@dataclass(frozen=True, slots=True)
class Pretended:
    """Where it listens, and what it was asked: request line and headers by their name in small letters, in order."""

    url: str
    seen: list[tuple[str, Mapping[str, str]]]


@contextmanager
def pretend(
    answers: Mapping[str, Answer], certificate: Path | None = None, bodies: list[bytes] | None = None
) -> Iterator[Pretended]:
    """Answer by path, `{}` where none is given; over TLS if there is a certificate, whose key lies beside it.

    The bodies of the requests are added to `bodies`.
    """
    seen: list[tuple[str, Mapping[str, str]]] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1

        def answer(self) -> None:
            read = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            if bodies is not None:
                bodies.append(read)
            path = unquote(urlsplit(self.path).path)
            seen.append((f"{self.command} {path}", {name.lower(): value for name, value in self.headers.items()}))
            answer = answers.get(path, Answer({}))
            plain = isinstance(answer.body, bytes)
            body = answer.body if plain else json.dumps(answer.body).encode()
            self.send_response_only(answer.status)
            headers = {"Content-Type": "text/html" if plain else "application/json", "Content-Length": str(len(body))}
            for name, value in (headers | dict(answer.headers)).items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST = do_PUT = do_DELETE = answer  # noqa: N815 - http.server looks for these names

    class Server(ThreadingHTTPServer):
        def handle_error(self, request: object, client_address: object) -> None:
            """Say nothing of clients that hang up over a certificate: they are what is tested."""

    server = Server(("127.0.0.1", 0), Handler)
    if certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, certificate.with_suffix(".key"))
        server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    try:
        yield Pretended(f"http{'s' if certificate else ''}://127.0.0.1:{server.server_address[1]}", seen)
    finally:
        server.shutdown()
        server.server_close()


def make_certificate(folder: Path, names: str) -> Path:
    """Make a certificate that signs itself, for names as in `IP:127.0.0.1,DNS:localhost`."""
    openssl = shutil.which("openssl")
    if not openssl:
        pytest.skip("making a certificate takes the command openssl")
    made = folder / "server.crt"
    key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", made.with_suffix(".key"))
    told = ("-subj", "/CN=test", "-addext", f"subjectAltName={names}", "-days", "2", "-out", made)
    subprocess.run([openssl, "req", "-x509", *key, *told], check=True, capture_output=True)
    return made
