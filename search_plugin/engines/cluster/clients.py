"""The official clients of the two products behind one interface: each call sends one request once."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

import orjson

from corpora.errors import UnavailableError
from corpora.installed import extra, needing
from search_plugin.engines.cluster.errors import ClusterError, failure, unanswered, unreachable

if TYPE_CHECKING:
    from urllib3 import Timeout

    from search_plugin.contract.connection import Connection
    from search_plugin.engines.cluster.product import Product

_JSON = "application/json"
_CONNECTIONS = 16
"""Connections kept open to a node: a search service sends requests from many threads."""


class Send(Protocol):
    """Sends a request to one of the nodes and returns the parsed reply, or raises what `errors` makes of it."""

    def __call__(self, method: str, path: str, params: Mapping[str, Any], body: bytes | None) -> Any:
        """Send."""


def open_client(product: Product, hosts: tuple[str, ...], connection: Connection) -> Send:
    """Return a function that sends requests through the product's own client, of the server's major version if needed.

    Raises `UnavailableError` if that client is not installed.
    """
    common: dict[str, Any] = {
        "headers": {"authorization": connection.authorization} if connection.authorization else {},
        "http_compress": connection.compress,
        # Retries are decided in one place: `with_retries`.
        "max_retries": 0,
    }
    if hosts[0].startswith("https:"):
        # One TLS context for the first request (which product is this?) and all others: by default, the clients
        # trust the certificates of a package, not the machine's.
        common["ssl_context"] = connection.tls_context()
    if product.kind == "opensearch":
        return _opensearch(hosts, common, connection.limits())
    return _elasticsearch(_elasticsearch_module(product), hosts, common, connection.limits())


def _opensearch(hosts: tuple[str, ...], common: Mapping[str, Any], limits: Timeout) -> Send:
    with needing("OpenSearch needs its client, which is not installed", extra("opensearch")):
        from opensearchpy import OpenSearch, exceptions

    client = OpenSearch(list(hosts), timeout=limits, pool_maxsize=_CONNECTIONS, serializer=_OrJson(), **common)

    def send(method: str, path: str, params: Mapping[str, Any], body: bytes | None) -> Any:
        try:
            reply = client.transport.perform_request(
                method, path, params=_flags(params), body=body, headers={"content-type": _content_type(path)}
            )
        except exceptions.ConnectionTimeout as error:
            raise unanswered(_joined(hosts)) from error
        except exceptions.ConnectionError as error:
            raise unreachable(_joined(hosts), str(error.info)) from error
        except exceptions.TransportError as error:
            raise failure(_joined(hosts), int(error.status_code), error.info) from error
        except (exceptions.SerializationError, orjson.JSONDecodeError):
            reply = None
        return _checked(reply, hosts)

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


def _elasticsearch(module: Any, hosts: tuple[str, ...], common: Mapping[str, Any], limits: Timeout) -> Send:
    from elastic_transport import NodeConfig, SerializationError, TransportError, Urllib3HttpNode
    from urllib3.exceptions import ReadTimeoutError

    class Node(Urllib3HttpNode):
        """By default, a node has only one timeout for the whole request."""

        def __init__(self, config: NodeConfig) -> None:
            super().__init__(config)
            self.pool.timeout = limits

    client = module.Elasticsearch(
        list(hosts),
        node_class=Node,
        connections_per_node=_CONNECTIONS,
        serializers={_JSON: module.OrjsonSerializer()},
        **common,
    )

    def send(method: str, path: str, params: Mapping[str, Any], body: bytes | None) -> Any:
        content = {"content-type": _content_type(path)} if body is not None else {}
        try:
            reply = client.perform_request(
                method, path, params=_flags(params), body=body, headers={"accept": _JSON, **content}
            ).body
        except module.UnsupportedProductError as error:
            raise ClusterError(
                f"{_joined(hosts)} answers without the header X-Elastic-Product, which its client requires; "
                "configure the proxy in front of the server to pass it on."
            ) from error
        except module.ApiError as error:
            raise failure(_joined(hosts), error.status_code, error.body) from error
        except SerializationError:
            reply = None
        except TransportError as error:
            if isinstance(error.__cause__, ReadTimeoutError):
                raise unanswered(_joined(hosts)) from error
            raise unreachable(_joined(hosts), str(error.message)) from error
        return _checked(reply, hosts)

    return send


class _OrJson:
    """What opensearch-py asks of a serializer."""

    mimetype = _JSON

    def loads(self, text: str | bytes) -> Any:
        return orjson.loads(text)

    def dumps(self, data: bytes) -> bytes:
        return data


def _checked(reply: Any, hosts: tuple[str, ...]) -> Any:
    if not isinstance(reply, dict | list):
        raise ClusterError(
            f"{_joined(hosts)} answers with something other than JSON", hint="check <engine>, and any proxy on the way"
        )
    return reply


def _content_type(path: str) -> str:
    return "application/x-ndjson" if path.endswith(("/_bulk", "/_msearch")) else _JSON


def _flags(params: Mapping[str, Any]) -> dict[str, Any]:
    return {name: str(value).lower() if isinstance(value, bool) else value for name, value in params.items()}


def _joined(hosts: tuple[str, ...]) -> str:
    return ",".join(hosts)
