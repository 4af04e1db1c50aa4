"""Requests to a cluster: the same for both products, with retries where they help."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from threading import Event
from typing import Any, NamedTuple, TypeVar

from search_plugin.contract.connection import Connection
from search_plugin.engines.cluster.clients import Send, open_client
from search_plugin.engines.cluster.dialect import as_json
from search_plugin.engines.cluster.errors import INDEX_NOT_FOUND, BusyError, ClusterError
from search_plugin.engines.cluster.product import Product, probe, split_hosts

R = TypeVar("R")


class RetryPolicy(NamedTuple):
    """How long a failed request is retried.

    Attributes:
        seconds: Total time from the first attempt.
        longest: Longest wait between two attempts; the wait doubles from a tenth of a second, with jitter, so that many
            clients don't retry at the same moment.
    """

    seconds: float
    longest: float


READING = RetryPolicy(4.0, 1.0)
"""Somebody waits for the answer."""

ONCE = RetryPolicy(0.0, 0.0)
"""Somebody else tries again."""


_NOT_RECOVERED = "1"
"""The number of the block that a starting node sets."""


class Cluster:
    """An OpenSearch or Elasticsearch cluster, asked once what it is, by the URLs of its nodes with commas between.

    Raises `InputError` if a URL can't be read, and `UnavailableError` if the cluster doesn't answer, isn't one that ses
    works with, or its client isn't installed.
    """

    def __init__(self, url: str, connection: Connection) -> None:
        self.url = url
        self.connection = connection
        hosts = split_hosts(url)
        self.product: Product = with_retries(READING, lambda: probe(hosts, connection))
        self.writing = RetryPolicy(connection.patience, 5.0)
        # Features that the cluster lacks, so that it is asked, and the user warned, only once.
        self.lacking: set[str] = set()
        self._send: Send = open_client(self.product, hosts, connection)
        self._nodes = len(hosts)

    def call(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | bytes | None = None,
        *,
        params: Mapping[str, Any] | None = None,
        retry: RetryPolicy = READING,
        check: Callable[[Any], object] | None = None,
    ) -> Any:
        """Send a request and return the parsed reply.

        The path begins at the root, `/index/_search`, and is made of checked names only. The body is JSON, or lines of
        JSON as bytes. `check` receives the reply, and may raise; its `BusyError` is retried like one of the cluster.
        Raises `UnavailableError` if the request fails, and `InputError` if the query has too many words or conditions
        for the cluster.
        """
        data = body if isinstance(body, bytes) or body is None else as_json(body)

        def send() -> Any:
            return self._send(method, path, params or {}, data)

        def attempt() -> Any:
            try:
                reply = send()
            except ClusterError as error:
                if error.type_name != INDEX_NOT_FOUND or self.product.kind != "opensearch":
                    raise
                if self._is_recovering():
                    raise BusyError(f"{self.url} is starting", 503, hint="wait, and try again") from error
                reply = send()  # it may have started in between
            if check:
                check(reply)
            return reply

        # A client tries the next node only in another attempt, and a lost attempt may take the whole timeout.
        return with_retries(retry, attempt, attempts=self._nodes)

    def _is_recovering(self) -> bool:
        """Return whether OpenSearch has not read its state after a start: it then says that there is no index.

        Elasticsearch lets a request wait instead.
        """
        try:
            reply = self._send("GET", "/_cluster/state/blocks", {"local": True}, None)
        except ClusterError:
            return False
        return _NOT_RECOVERED in reply.get("blocks", {}).get("global", {})


def with_retries(retry: RetryPolicy, request: Callable[[], R], stopped: Event | None = None, *, attempts: int = 1) -> R:
    """Call a function until it raises no `BusyError`, or the time for retries is over; return what it returns.

    `stopped` ends the retries when it is set. At least so many `attempts` are made, whatever their time.
    """
    from tenacity import (
        Retrying,
        retry_if_exception_type,
        sleep_using_event,
        stop_after_attempt,
        stop_after_delay,
        stop_when_event_set,
        wait_random_exponential,
    )

    stopped = stopped or Event()
    retrying = Retrying(
        retry=retry_if_exception_type(BusyError),
        stop=(stop_after_delay(retry.seconds) & stop_after_attempt(attempts)) | stop_when_event_set(stopped),
        wait=wait_random_exponential(multiplier=0.1, max=retry.longest),
        sleep=sleep_using_event(stopped),
        reraise=True,
    )
    return retrying(request)
