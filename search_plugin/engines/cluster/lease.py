"""The right to write an index, held in the cluster itself, so that writers on different machines hold each other off.

It is a document that its holder renews. Who dies without giving it back is waited for only as long as a renewal takes,
and not at all by a process of the same machine, which can see that the other is gone.
"""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from corpora.errors import UnavailableError
from search_plugin.engines.cluster.errors import ClusterError

if TYPE_CHECKING:
    from search_plugin.engines.cluster.transport import Cluster

INDEX = "ses.locks"
SECONDS = 60.0
"""A lease that was not renewed for so long has no holder any more."""

_RENEWALS = 4
_MAPPING = {
    "settings": {"index": {"number_of_shards": 1, "auto_expand_replicas": "0-1"}},
    "mappings": {
        "dynamic": "strict",
        "properties": {
            "holder": {"type": "keyword"},
            "host": {"type": "keyword"},
            "process": {"type": "integer"},
            "renewed": {"type": "double"},
        },
    },
}


class Lease:
    """One writer's right; made by `hold`."""

    def __init__(self, cluster: Cluster, name: str) -> None:
        self._cluster = cluster
        self._name = name
        self._path = f"/{INDEX}/_doc/{name}"
        self._holder = uuid4().hex
        self._version: dict[str, int] = {}
        self._lost = threading.Event()
        self._done = threading.Event()

    def check(self) -> None:
        """Raise `UnavailableError` if another writer has taken the index over."""
        if self._lost.is_set():
            raise UnavailableError(
                f"Another `ses index` has taken over the index {self._name}, after this one was cut off from "
                f"{self._cluster.url} for a minute; wait until it is done and run the same command again."
            )

    def take(self) -> None:
        """Take the right, or raise `UnavailableError` if somebody holds it."""
        _make_index(self._cluster)
        try:
            self._put({"op_type": "create"})
        except ClusterError as error:
            if error.status != 409:
                raise
        else:
            return
        found = self._cluster.call("GET", self._path)
        if _alive(found["_source"]):
            raise UnavailableError(
                f"Another `ses index` is writing the index {self._name}; "
                "wait until it is done, or choose another --index."
            )
        # On the condition that it is still the same dead one's: of two who want it, one gets it.
        self._version = _version(found)
        self.renew()

    def renew(self) -> None:
        """Write the time anew, or raise `ClusterError` if the lease is somebody else's now."""
        self._put(self._version)

    def keep(self) -> None:
        """Renew until done; runs in a thread of its own."""
        while not self._done.wait(SECONDS / _RENEWALS):
            try:
                self.renew()
            except ClusterError as error:
                # Anything else passes: the cluster may be away for a while, and with it whoever might take over.
                if error.status == 409:
                    self._lost.set()
                    return

    def stop(self) -> None:
        """End the renewing."""
        self._done.set()

    def give_back(self) -> None:
        """Let the next writer in."""
        with suppress(ClusterError):  # the next one waits a minute, and nothing else is lost
            self._cluster.call("DELETE", self._path, params=self._version)

    def _put(self, condition: dict[str, Any]) -> None:
        document = {
            "holder": self._holder,
            "host": socket.gethostname(),
            "process": os.getpid(),
            "renewed": time.time(),
        }
        self._version = _version(self._cluster.call("PUT", self._path, document, params=condition))


@contextmanager
def hold(cluster: Cluster, name: str) -> Iterator[Lease]:
    """Hold off other writers of an index.

    Args:
        cluster: Where the index is.
        name: Of the index.

    Yields:
        The lease, renewed in the background until the block ends.

    Raises:
        UnavailableError: If somebody else holds it.
    """
    lease = Lease(cluster, name)
    lease.take()
    keeper = threading.Thread(target=lease.keep, name="lease", daemon=True)
    keeper.start()
    try:
        yield lease
    finally:
        lease.stop()
        keeper.join()
        lease.give_back()


def _make_index(cluster: Cluster) -> None:
    try:
        cluster.call("PUT", f"/{INDEX}", _MAPPING)
    except ClusterError as error:
        if error.kind != "resource_already_exists_exception":
            raise


def _version(reply: Any) -> dict[str, int]:
    return {"if_seq_no": reply["_seq_no"], "if_primary_term": reply["_primary_term"]}


def _alive(document: dict[str, Any]) -> bool:
    if document["host"] == socket.gethostname() and not _runs(int(document["process"])):
        return False
    return time.time() - float(document["renewed"]) < SECONDS


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
