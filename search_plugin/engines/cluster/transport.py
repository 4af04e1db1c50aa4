"""Requests to a cluster: one way for both products, with patience where it helps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import orjson

from search_plugin.engines.cluster.clients import open_client
from search_plugin.engines.cluster.errors import BusyError
from search_plugin.engines.cluster.product import Product, probe, split_hosts
from search_plugin.engines.connection import Connection

if TYPE_CHECKING:
    from search_plugin.engines.cluster.clients import Send

R = TypeVar("R")


class Patience(NamedTuple):
    """How long a request is tried again where that may help.

    Attributes:
        seconds: From the first attempt on.
        longest: Between two attempts at most; the wait doubles from a tenth of a second, with chance in it, so that
            many clients don't come back at the same moment.
    """

    seconds: float
    longest: float


READING = Patience(4.0, 1.0)
"""Somebody waits for the answer."""


class Cluster:
    """An OpenSearch or Elasticsearch cluster, asked once what it is.

    Args:
        url: Of its nodes, with commas between.
        connection: Credentials and habits.

    Raises:
        InputError: If the URL can't be read.
        UnavailableError: If it doesn't answer, isn't one that ses works with, or its client isn't installed.
    """

    def __init__(self, url: str, connection: Connection) -> None:
        self.url = url
        self.connection = connection
        hosts = split_hosts(url)
        self.product: Product = with_patience(READING, lambda: probe(hosts, connection))
        self.writing = Patience(connection.patience, 5.0)
        self._send: Send = open_client(self.product, hosts, connection)

    def call(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | bytes | None = None,
        *,
        params: Mapping[str, Any] | None = None,
        patience: Patience = READING,
    ) -> Any:
        """Send a request and return the parsed reply.

        Args:
            method: Of HTTP.
            path: From the root, `/index/_search`; made of checked names only.
            body: JSON, or lines of JSON as bytes.
            params: For the URL.
            patience: How long to go on trying while the cluster is busy or away.

        Returns:
            The reply's JSON.

        Raises:
            UnavailableError: If it can't be had.
            InputError: If the cluster finds too many words or conditions in a query.
        """
        data = (
            body if isinstance(body, bytes) or body is None else orjson.dumps(body, option=orjson.OPT_SERIALIZE_NUMPY)
        )
        return with_patience(patience, lambda: self._send(method, path, params or {}, data))


def with_patience(patience: Patience, request: Callable[[], R]) -> R:
    """Call until it raises no `BusyError`, or patience ends."""
    from tenacity import Retrying, retry_if_exception_type, stop_after_delay, wait_random_exponential

    retrying = Retrying(
        retry=retry_if_exception_type(BusyError),
        stop=stop_after_delay(patience.seconds),
        wait=wait_random_exponential(multiplier=0.1, max=patience.longest),
        reraise=True,
    )
    return retrying(request)
