"""Bulk requests. The result of every item is checked: written, refused with a reason, or sent again."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any

from search_plugin.contract.engine import Refused
from search_plugin.engines.cluster.documents import BulkRequest
from search_plugin.engines.cluster.errors import BusyError, ClusterError, UnansweredError, cause, failure, short
from search_plugin.engines.cluster.transport import ONCE, Cluster, with_retries

BATCH_BYTES = 8 << 20
"""Size of a bulk request. Clusters refuse more than 100 MB by default, and keep each request in memory."""

WORKERS = 2
"""Concurrent requests: the next one is prepared while the cluster works on the last one."""

MISSING = "It is not there."
"""Why a paper was not updated."""

StoredIds = Callable[[BulkRequest], set[str]]
"""Function that returns the ids of those documents of a request that are stored as the request would write them."""

_LOOKING = 2.0
"""Seconds between two looks at what a cluster has stored of a request."""

_TOO_LARGE = 413
_EVERY_DOCUMENTS = ("index_closed_exception",)
"""Errors that look specific to one document, but that every other document would cause too."""


class _TooSlowError(ClusterError):
    """A request that the cluster did not answer in time; `rest` is what it has not stored of it."""

    def __init__(self, error: ClusterError, rest: BulkRequest) -> None:
        super().__init__(error.sentence, error.status, error.type_name, error.hint)
        self.rest = rest


def write(
    cluster: Cluster,
    alias: str,
    batches: Iterable[BulkRequest],
    *,
    loading: bool = False,
    unchanged: str = "",
    stored: StoredIds | None = None,
) -> list[Refused]:
    """Write batches, several at once; durable on return. Return the documents that the cluster refused.

    Writes go through an alias: under the index's own name, one would create it again, without a mapping, after a
    deletion. The alias is empty if the lines name aliases. While `loading`, nobody searches yet, and every request
    creates a segment of its own: the cost of a graph grows faster than its size, so many small segments, merged in the
    background at the end, are faster (docs/benchmarks.md, Loading a cluster). `unchanged` is the reason by which a
    document that its update left as it was counts as refused; without it, it does not. A cluster that does not answer
    in time may still be working: `stored` is asked until nothing more comes, and what is missing then is sent in
    smaller requests. Raises `UnavailableError` if the cluster can't be written to.
    """
    stopped = Event()
    params = {"require_alias": True, **({"refresh": True} if loading else {})}
    path = f"/{alias}/_bulk" if alias else "/_bulk"

    def send(batch: BulkRequest, refused: list[Refused]) -> None:
        _send(cluster, path, params, batch, refused, stopped, unchanged, stored)

    with ThreadPoolExecutor(WORKERS, "bulk") as pool:
        refused: list[Refused] = []
        under_way: list[Any] = []
        try:
            for batch in batches:
                under_way.append(pool.submit(_write, send, batch))
                # No more than the workers can take is rendered, or memory would fill up with lines.
                if len(under_way) > WORKERS:
                    refused += under_way.pop(0).result()
            for done in under_way:
                refused += done.result()
        except BaseException:
            # A run that has failed is not retried.
            stopped.set()
            pool.shutdown(cancel_futures=True)
            raise
    return refused


def _write(send: Callable[[BulkRequest, list[Refused]], None], batch: BulkRequest) -> list[Refused]:
    refused: list[Refused] = []
    try:
        send(batch, refused)
    except _TooSlowError as error:
        batch = error.rest
    except ClusterError as error:
        if error.status != _TOO_LARGE:
            raise
        # Some servers, and proxies in front of them, accept smaller requests than others.
        if len(batch.ids) == 1:
            return [Refused(batch.ids[0], "It is larger than a request to the cluster may be.")]
    else:
        return refused
    half = (len(batch.ids) + 1) // 2
    parts = _part(batch, range(half)), _part(batch, range(half, len(batch.ids)))
    return refused + [refusal for part in parts if part.ids for refusal in _write(send, part)]


def _part(batch: BulkRequest, numbers: Iterable[int]) -> BulkRequest:
    """Return the request for some of the documents."""
    chosen, per_item = list(numbers), len(batch.lines) // len(batch.ids)
    lines = tuple(batch.lines[number * per_item + line] for number in chosen for line in range(per_item))
    return BulkRequest(tuple(batch.ids[number] for number in chosen), lines)


def _missing(cluster: Cluster, sent: BulkRequest, stored: StoredIds, stopped: Event) -> BulkRequest:
    """Return what a cluster has not stored of a request, once it has stored nothing more for as long as a timeout."""
    waited = cluster.connection.timeout
    until = time.monotonic() + waited
    while sent.ids:
        there = stored(sent)
        sent = _part(sent, [number for number, id_ in enumerate(sent.ids) if id_ not in there])
        if there:
            until = time.monotonic() + waited
        if time.monotonic() > until or stopped.wait(min(_LOOKING, waited / 4)):
            break
    return sent


def _send(
    cluster: Cluster,
    path: str,
    params: Mapping[str, Any],
    batch: BulkRequest,
    refused: list[Refused],
    stopped: Event,
    unchanged: str,
    stored: StoredIds | None,
) -> None:
    left = batch

    def attempt() -> None:
        nonlocal left
        try:
            reply = cluster.call("POST", path, b"\n".join([*left.lines, b""]), params=params, retry=ONCE)
        except UnansweredError as error:
            missing = _missing(cluster, left, stored, stopped) if stored else left
            if not missing.ids:
                return
            if len(left.ids) == 1:
                raise
            raise _TooSlowError(error, missing) from error
        left, why = _unwritten(cluster, left, reply, refused, unchanged)
        if left.ids:
            raise BusyError(
                f"{cluster.url} is too busy for {len(left.ids)} documents ({short(why)}); try again later: it resumes.",
                429,
            )

    with_retries(cluster.writing, attempt, stopped)


def _unwritten(
    cluster: Cluster, sent: BulkRequest, reply: Any, refused: list[Refused], unchanged: str
) -> tuple[BulkRequest, str]:
    """Return what is to be sent again of a request that was answered, and why; `refused` receives what is not."""
    items = [next(iter(item.values())) for item in reply["items"]]
    if len(items) != len(sent.ids):
        raise ClusterError(f"{cluster.url} answered for {len(items)} of {len(sent.ids)} documents; read its log.")
    some_taken = any("error" not in item for item in items)
    again, why = [], ""
    for number, (id_, item) in enumerate(zip(sent.ids, items, strict=True)):
        if "error" not in item:
            if unchanged and item.get("result") == "noop":
                refused.append(Refused(id_, unchanged))
            continue
        status, (kind, reason) = int(item["status"]), cause(item)
        if kind == "document_missing_exception":
            refused.append(Refused(id_, MISSING))
            continue
        # An internal error of the server may be caused by the document or by the server: by the document, if others
        # succeeded.
        if (status == 400 and kind not in _EVERY_DOCUMENTS) or (status == 500 and some_taken):
            refused.append(Refused(id_, f"{cluster.product.name} would not take it: {short(reason)}"))
        elif isinstance(error := failure(cluster.url, status, item), BusyError):
            again.append(number)
            why = reason
        else:
            raise error
    return _part(sent, again), why
