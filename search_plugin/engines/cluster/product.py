"""Ask a server what it is before choosing the client that may talk to it."""

from __future__ import annotations

import functools
import logging
import re
from contextlib import closing
from dataclasses import dataclass
from typing import Literal

import orjson

from corpora.errors import InputError, UnavailableError
from corpora.http_client import EndlessError, HttpClient, is_loopback, read_all
from search_plugin.contract.connection import CONNECTING, Connection
from search_plugin.engines.cluster.errors import BusyError, failure, unreachable

ProductName = Literal["opensearch", "elasticsearch"]

SUPPORTED: dict[ProductName, tuple[tuple[int, int], ...]] = {
    "opensearch": ((2, 19), (3, 0)),
    "elasticsearch": ((8, 16), (9, 0)),
}
"""The lowest supported minor version of each supported major version."""

_LARGEST_GREETING = 1 << 20
"""Bytes of what a server says of itself."""


class NoClusterError(UnavailableError):
    """A server answers, and is neither OpenSearch nor Elasticsearch."""


@dataclass(frozen=True, slots=True)
class Product:
    """What a server is: its version as the server reports it, and major and minor as numbers."""

    kind: ProductName
    number: str
    version: tuple[int, int]

    @property
    def name(self) -> str:
        """Name and version for messages, such as `OpenSearch 3.6.0`."""
        return f"{'OpenSearch' if self.kind == 'opensearch' else 'Elasticsearch'} {self.number}"


def split_hosts(url: str) -> tuple[str, ...]:
    """Return the URLs of nodes, each as `http://host:port`, from one URL or several with commas between.

    Raises `InputError` if one can't be read or holds a password, or if http and https are mixed.
    """
    from urllib3.exceptions import LocationParseError
    from urllib3.util import parse_url

    if "@" in url:
        raise InputError(
            "A URL with a password in it would be seen by everyone; leave it out, and set SES_ENGINE_USERNAME and "
            "SES_ENGINE_PASSWORD."
        )
    hosts = []
    for part in url.split(","):
        try:
            parsed = parse_url(part.strip())
        except LocationParseError:
            parsed = parse_url("")
        beyond = (parsed.path or "").strip("/") or parsed.query is not None or parsed.fragment is not None
        if parsed.scheme not in ("http", "https") or not parsed.host or beyond:
            raise InputError(f"The engine {part!r} can't be read; write it as http://HOST:PORT.")
        port = parsed.port or (443 if parsed.scheme == "https" else 9200)
        hosts.append(f"{parsed.scheme}://{parsed.host}:{port}")
    if len({host.partition(":")[0] for host in hosts}) > 1:
        raise InputError("The URLs of one cluster mix http and https; begin all of them with the same.")
    return tuple(hosts)


@functools.cache
def tell_of_plain_text(host: str) -> None:
    """Warn once that credentials go over plain http to another machine, where anyone on the way can read them."""
    if host.startswith("https:") or is_loopback(host):
        return
    logging.getLogger("ses").warning(
        "The credentials are sent to %s unencrypted, and anyone on the way can read them; use https.", host
    )


def probe(hosts: tuple[str, ...], connection: Connection) -> Product:
    """Return what the first node that answers is.

    Raises `UnavailableError` if none answers, the credentials are refused, or ses does not work with it.
    """
    for host in hosts[:-1]:
        try:
            return _ask(host, connection)
        except BusyError:
            continue
    return _ask(hosts[-1], connection)


def _ask(host: str, connection: Connection) -> Product:
    from urllib3.exceptions import HTTPError

    headers = {"accept": "application/json"}
    if connection.authorization:
        tell_of_plain_text(host)
        headers["authorization"] = connection.authorization
    trust = connection.tls_context() if host.startswith("https:") else None
    with closing(
        HttpClient(min(connection.timeout, CONNECTING), connection.timeout, proxies=False, tls=trust)
    ) as client:
        try:
            with client.send("GET", f"{host}/", headers) as reply:
                text = read_all(reply, _LARGEST_GREETING, connection.timeout)
        except (HTTPError, EndlessError) as error:
            raise unreachable(host, str(error)) from error
    try:
        body = orjson.loads(text)
    except orjson.JSONDecodeError:
        body = text[:200].decode(errors="replace")
    if reply.headers.get("content-type", "").startswith("application/problem+json"):
        raise NoClusterError(f"{host} is neither OpenSearch nor Elasticsearch", "check <engine>")
    if reply.status != 200:
        raise failure(host, reply.status, body)
    return _product(host, body)


def _product(host: str, body: object) -> Product:
    version = body.get("version") if isinstance(body, dict) else None
    number = str(version.get("number", "")) if isinstance(version, dict) else ""
    parts = re.fullmatch(r"(\d{1,9})\.(\d{1,9})[\w.+-]{0,50}", number, re.ASCII)
    if not isinstance(version, dict) or not parts:
        raise NoClusterError(f"{host} is neither OpenSearch nor Elasticsearch", "check <engine>")
    kind: ProductName = "opensearch" if version.get("distribution") == "opensearch" else "elasticsearch"
    product = Product(kind, number, (int(parts[1]), int(parts[2])))
    if not any(product.version[0] == major and product.version[1] >= minor for major, minor in SUPPORTED[kind]):
        known = " or ".join(f"{major}.x from {major}.{minor}" for major, minor in SUPPORTED[kind])
        raise UnavailableError(f"{host} is {product.name}, and ses works with {known}; use a server of such a version.")
    return product
