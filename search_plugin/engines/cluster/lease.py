"""The right to write an index, held in the cluster itself, so that only one of several writers can write.

The lease is a document that its holder renews. If the holder dies, the lease expires a minute after its last renewal.
A process on the same machine need not wait: it can see that the holder has ended.

The index of these documents goes with the last index of ses. Before it is deleted, it is closed to writes, so that
nobody can take a lease in it between the last look and the deletion.
"""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

from corpora.errors import ConflictError, UnavailableError
from search_plugin.engines.cluster.errors import INDEX_NOT_FOUND, ClusterError, ignoring_missing
from search_plugin.engines.cluster.physical import find_indexes
from search_plugin.engines.cluster.transport import ONCE, READING, Cluster, RetryPolicy


def here() -> str:
    """Return this machine and its process namespace: each container numbers its own processes."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        numbering = Path("/proc/self/ns/pid").stat().st_ino
    except OSError:
        return socket.gethostname()
    return f"{socket.gethostname()} {boot} {numbering}"


def place_of(holder: Mapping[str, Any]) -> str:
    """Return where a holder runs, for messages."""
    machine = str(holder.get("host", "")).partition(" ")[0]
    return f"process {holder.get('process')} on {machine}" if machine else "it has just begun"


def keeper_of(holder: str) -> str:
    """Return the name of the thread that renews a holder's lease."""
    return f"lease {holder}"


def seen_dead(holder: Mapping[str, Any]) -> bool:
    """Return whether a holder ran on this machine and has ended, even if it renewed a moment ago."""
    process = holder.get("process")
    if holder.get("host") != here() or not isinstance(process, int) or os.name != "posix":
        return False
    if process == os.getpid():
        keeper = keeper_of(str(holder.get("holder")))
        return all(thread.name != keeper for thread in threading.enumerate())
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    except (PermissionError, OverflowError):
        return False
    return False


def silent(holder: Mapping[str, Any], seconds: float) -> bool:
    """Return whether a holder's last renewal is older than that, by this machine's clock."""
    renewed = holder.get("renewed")
    return not isinstance(renewed, int | float) or abs(time.time() - renewed) >= seconds


INDEX = "ses.locks"
SECONDS = 60.0
"""A lease that was not renewed for this long has expired."""

_RENEWALS = 4
_REMOVAL = 5.0
"""The index of leases is deleted at most so many seconds after it was closed to writes."""
_WAITS = 50
_WAIT = 0.2
"""How often, and how many seconds, a writer waits for its removal: twice as long as that may take."""
_MOST = 1000
"""Leases that are looked at."""
_BLOCK = "index.blocks.write"
_CHANGED = (404, 409)
"""Statuses of a conditional write if the document has changed or is missing."""

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
        """The name of the renewing thread, by which other threads of this process see that the lease is held."""
        return keeper_of(self._holder)

    def check(self) -> None:
        """Raise `ConflictError` if another writer has taken the index over."""
        # After a sleep or a lost connection, the lease may be lost without this process knowing it yet.
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
                # Clocks of two machines may differ: a living holder renews within this time.
                self._done.wait(1.5 * SECONDS / _RENEWALS)
            # Only if the same dead holder still has it: of two writers who want it, one gets it.
            condition = _version(found)
        try:
            self._put(condition, self._cluster.writing)
        except ClusterError as error:
            if error.status not in _CHANGED:
                raise
            # It may be our own, from an attempt whose answer was lost.
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
                # Temporary: while the cluster does not answer, no other writer can take over either.
                continue

    def stop(self) -> None:
        """End the renewing."""
        self._done.set()

    def give_back(self) -> None:
        """Let the next writer in."""
        with suppress(UnavailableError):  # the next one waits a minute, and nothing else is lost
            if self._is_mine():
                self._cluster.call("DELETE", self._path, params=self._version)
                _remove_unused(self._cluster)

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
        for waits in range(_WAITS + 1):
            try:
                reply = self._cluster.call("PUT", self._path, document, params=condition, retry=retry)
                break
            except ClusterError as error:
                gone = error.type_name == INDEX_NOT_FOUND and "op_type" in condition
                if not (gone or _BLOCK in error.sentence) or waits == _WAITS:
                    raise
            # Somebody removes the index, or has died on the way.
            self._done.wait(_WAIT)
            if waits == _WAITS - 1:
                with suppress(ClusterError):
                    _open(self._cluster)
            _make_index(self._cluster)
        self._version, self._renewed = _version(reply), now

    def _look(self) -> Mapping[str, Any] | None:
        with ignoring_missing():
            found: Mapping[str, Any] = self._cluster.call("GET", self._path)
            return found
        return None

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
    """Somebody else holds the lease."""


@contextmanager
def hold(cluster: Cluster, name: str) -> Iterator[Lease]:
    """Lock out other writers of an index by a lease, renewed in the background until the block ends.

    Raises `ConflictError` if somebody else holds it.
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


def _remove_unused(cluster: Cluster) -> None:
    """Delete the index of leases if ses has no other index there and nobody holds a lease."""
    if find_indexes(cluster, "*") or _is_used(cluster):
        return
    cluster.call("PUT", f"/{INDEX}/_block/write", retry=ONCE)
    closed = time.monotonic()
    try:
        if not _is_used(cluster) and time.monotonic() - closed < _REMOVAL:
            cluster.call("DELETE", f"/{INDEX}", retry=ONCE)
    finally:
        with suppress(ClusterError):  # it is deleted
            _open(cluster)


def _is_used(cluster: Cluster) -> bool:
    cluster.call("POST", f"/{INDEX}/_refresh", retry=ONCE)
    hits = cluster.call("POST", f"/{INDEX}/_search", {"size": _MOST}, retry=ONCE)["hits"]["hits"]
    # Clocks differ: a holder that is silent for ten times as long has ended.
    living = (one for one in hits if not (seen_dead(one["_source"]) or silent(one["_source"], 10 * SECONDS)))
    return any(living) or len(hits) == _MOST


def _open(cluster: Cluster) -> None:
    cluster.call("PUT", f"/{INDEX}/_settings", {_BLOCK: None}, retry=ONCE)


def _version(reply: Any) -> dict[str, Any]:
    return {"if_seq_no": reply["_seq_no"], "if_primary_term": reply["_primary_term"]}
