"""The right to write an index, held in the cluster itself, so that writers on different machines hold each other off.

It is a document that its holder renews. Who dies without giving it back is waited for only as long as a renewal takes,
and not at all by a process of the same machine, which can see that the other is gone.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from corpora.errors import ConflictError, UnavailableError
from search_plugin.engines.cluster.errors import ClusterError
from search_plugin.engines.cluster.holder import here, keeper_of, place_of, seen_dead, silent
from search_plugin.engines.cluster.transport import READING

if TYPE_CHECKING:
    from search_plugin.engines.cluster.transport import Cluster, RetryPolicy

INDEX = "ses.locks"
SECONDS = 60.0
"""A lease that was not renewed for so long has no holder any more."""

_RENEWALS = 4
_CHANGED = (404, 409)
"""Statuses of a write on the condition that a document is as it was, where it is not, or not there at all."""

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
        self._version: dict[str, Any] = {}
        self._renewed = 0.0
        self._one_at_a_time = threading.Lock()
        self._lost = threading.Event()
        self._done = threading.Event()

    @property
    def keeper(self) -> str:
        """The name of the thread that renews, by which others of this process see that somebody does."""
        return keeper_of(self._holder)

    def check(self) -> None:
        """Raise `ConflictError` if another writer has taken the index over."""
        # Who slept, or was cut off, may have lost it without having been told yet.
        if self._lost.is_set() or time.time() - self._renewed > SECONDS / 2:
            self.confirm()

    def confirm(self) -> None:
        """Renew at once, and raise `ConflictError` if another writer has taken the index over."""
        if not self._lost.is_set():
            with suppress(_LostError):
                self._renew(self._cluster.writing)
        if self._lost.is_set():
            raise ConflictError(
                f"Another run has taken over the index {self._name}, after this one was cut off from "
                f"{self._cluster.url} for a minute",
                "wait until it is done, and index the same papers again",
            )

    def take(self) -> None:
        """Take the right, or raise `ConflictError` if somebody holds it."""
        _make_index(self._cluster)
        found = self._look()
        condition: dict[str, Any] = {"op_type": "create"}
        if found:
            holder = found["_source"]
            if not seen_dead(holder):
                if not silent(holder, SECONDS):
                    raise self._held(holder)
                # Clocks of two machines may differ: a holder that is alive renews within this time.
                self._done.wait(1.5 * SECONDS / _RENEWALS)
            # On the condition that it is still the same dead one's: of two who want it, one gets it.
            condition = _version(found)
        try:
            self._put(condition, self._cluster.writing)
        except ClusterError as error:
            if error.status not in _CHANGED:
                raise
            # It may be this one's own, by an attempt whose answer was lost.
            if not self._is_mine():
                raise self._held(found["_source"] if found else {}) from error

    def keep(self) -> None:
        """Renew until done; runs in a thread of its own."""
        while not self._done.wait(SECONDS / _RENEWALS):
            try:
                if self._version:
                    self._renew(READING)
            except _LostError:
                return
            except UnavailableError:
                # It passes: the cluster may be away for a while, and with it whoever might take over.
                continue

    def stop(self) -> None:
        """End the renewing."""
        self._done.set()

    def give_back(self) -> None:
        """Let the next writer in."""
        with suppress(UnavailableError):  # the next one waits a minute, and nothing else is lost
            if self._is_mine():
                self._cluster.call("DELETE", self._path, params=self._version)

    def _renew(self, retry: RetryPolicy) -> None:
        with self._one_at_a_time:
            try:
                self._put(self._version, retry)
            except ClusterError as error:
                if error.status not in _CHANGED:
                    raise
                if not self._is_mine():
                    self._lost.set()
                    raise _LostError from error

    def _put(self, condition: dict[str, Any], retry: RetryPolicy) -> None:
        now = time.time()
        document = {"holder": self._holder, "host": here(), "process": os.getpid(), "renewed": now}
        reply = self._cluster.call("PUT", self._path, document, params=condition, retry=retry)
        self._version, self._renewed = _version(reply), now

    def _look(self) -> Mapping[str, Any] | None:
        try:
            found: Mapping[str, Any] = self._cluster.call("GET", self._path)
        except ClusterError as error:
            if error.status == 404:
                return None
            raise
        return found

    def _is_mine(self) -> bool:
        found = self._look()
        if not found or found["_source"].get("holder") != self._holder:
            return False
        self._version, self._renewed = _version(found), float(found["_source"]["renewed"])
        return True

    def _held(self, holder: Mapping[str, Any]) -> ConflictError:
        return ConflictError(
            f"Another run is writing the index {self._name} ({place_of(holder)})",
            "wait until it is done, or choose another <index>",
        )


class _LostError(Exception):
    """The lease is somebody else's."""


@contextmanager
def hold(cluster: Cluster, name: str) -> Iterator[Lease]:
    """Hold off other writers of an index.

    Args:
        cluster: Where the index is.
        name: Of the index.

    Yields:
        The lease, renewed in the background until the block ends.

    Raises:
        ConflictError: If somebody else holds it.
    """
    lease = Lease(cluster, name)
    keeper = threading.Thread(target=lease.keep, name=lease.keeper, daemon=True)
    keeper.start()
    try:
        lease.take()
        yield lease
    finally:
        lease.stop()
        keeper.join()
        lease.give_back()


def _make_index(cluster: Cluster) -> None:
    try:
        cluster.call("PUT", f"/{INDEX}", _MAPPING, retry=cluster.writing)
    except ClusterError as error:
        if error.type_name != "resource_already_exists_exception":
            raise


def _version(reply: Any) -> dict[str, Any]:
    return {"if_seq_no": reply["_seq_no"], "if_primary_term": reply["_primary_term"]}
