"""The two products' own clients, made to look alike: each sends one request once."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

import orjson

from corpora.errors import UnavailableError
from search_plugin.engines.cluster.errors import failure, unreachable

if TYPE_CHECKING:
    from search_plugin.engines.cluster.product import Product
    from search_plugin.engines.connection import Connection

_JSON = "application/json"
_CONNECTIONS = 16
"""Kept open to a node: a search service asks from many threads."""


class Send(Protocol):
    """Sends a request to one of the nodes and returns the parsed reply, or raises what `errors` makes of it."""

    def __call__(self, method: str, path: str, params: Mapping[str, Any], body: bytes | None) -> Any:
        """Send."""


def open_client(product: Product, hosts: tuple[str, ...], connection: Connection) -> Send:
    """Return the way to send requests to a product.

    Args:
        product: What the server is.
        hosts: URLs of its nodes.
        connection: Credentials and habits.

    Returns:
        Sends requests through the product's own client, of the server's major version where that matters.

    Raises:
        UnavailableError: If that client is not installed.
    """
    headers = {"authorization": connection.authorization} if connection.authorization else {}
    if product.kind == "opensearch":
        return _opensearch(hosts, connection, headers)
    return _elasticsearch(_elasticsearch_module(product), hosts, connection, headers)


def _opensearch(hosts: tuple[str, ...], connection: Connection, headers: dict[str, str]) -> Send:
    try:
        from opensearchpy import OpenSearch, exceptions
    except ImportError:
        raise UnavailableError(
            "OpenSearch needs its client, which is not installed; run `pip install 'ses[opensearch]'`."
        ) from None

    client = OpenSearch(
        list(hosts),
        headers=headers,
        http_compress=connection.compress,
        timeout=connection.timeout,
        max_retries=0,
        pool_maxsize=_CONNECTIONS,
        ca_certs=str(connection.ca_file) if connection.ca_file else None,
        serializer=_OrJson(),
    )

    def send(method: str, path: str, params: Mapping[str, Any], body: bytes | None) -> Any:
        try:
            return client.transport.perform_request(
                method, path, params=_flags(params), body=body, headers={"content-type": _content_type(path)}
            )
        except exceptions.ConnectionError as error:
            raise unreachable(_joined(hosts), str(error.info)) from error
        except exceptions.TransportError as error:
            raise failure(_joined(hosts), int(error.status_code), error.info) from error

    return send


def _elasticsearch_module(product: Product) -> Any:
    """Return the client package of the server's major version: an older server refuses a newer client's requests."""
    major = product.version[0]
    for name in (f"elasticsearch{major}", "elasticsearch"):
        try:
            module = import_module(name)
        except ImportError:
            continue
        if module.__version__[0] == major:
            return module
    raise UnavailableError(
        f"{product.name} needs the client of its own major version, which is not installed; "
        f"run `pip install 'elasticsearch{major}'`."
    )


def _elasticsearch(module: Any, hosts: tuple[str, ...], connection: Connection, headers: dict[str, str]) -> Send:
    from elastic_transport import ConnectionError as NoConnection
    from elastic_transport import ConnectionTimeout, TransportError

    client = module.Elasticsearch(
        list(hosts),
        headers=headers,
        http_compress=connection.compress,
        request_timeout=connection.timeout,
        max_retries=0,
        connections_per_node=_CONNECTIONS,
        serializers={_JSON: module.OrjsonSerializer()},
        **({"ca_certs": str(connection.ca_file)} if connection.ca_file else {}),
    )

    def send(method: str, path: str, params: Mapping[str, Any], body: bytes | None) -> Any:
        content = {"content-type": _content_type(path)} if body is not None else {}
        try:
            reply = client.perform_request(
                method, path, params=_flags(params), body=body, headers={"accept": _JSON, **content}
            )
        except (NoConnection, ConnectionTimeout) as error:
            raise unreachable(_joined(hosts), str(error.message)) from error
        except module.ApiError as error:
            raise failure(_joined(hosts), error.status_code, error.body) from error
        except TransportError as error:
            raise unreachable(_joined(hosts), str(error.message)) from error
        return reply.body

    return send


class _OrJson:
    """What opensearch-py asks of a serializer."""

    mimetype = _JSON

    def loads(self, text: str | bytes) -> Any:
        return orjson.loads(text)

    def dumps(self, data: bytes) -> bytes:
        return data


def _content_type(path: str) -> str:
    return "application/x-ndjson" if path.endswith(("/_bulk", "/_msearch")) else _JSON


def _flags(params: Mapping[str, Any]) -> dict[str, Any]:
    return {name: str(value).lower() if isinstance(value, bool) else value for name, value in params.items()}


def _joined(hosts: tuple[str, ...]) -> str:
    return ",".join(hosts)
