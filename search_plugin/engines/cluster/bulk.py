"""Bulk requests. The result of every item is checked: written, refused with a reason, or sent again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import TYPE_CHECKING, Any

from search_plugin.contract.engine import Refused
from search_plugin.engines.cluster.documents import BulkRequest
from search_plugin.engines.cluster.errors import BusyError, ClusterError, cause, failure, short
from search_plugin.engines.cluster.transport import ONCE, with_retries

if TYPE_CHECKING:
    from search_plugin.engines.cluster.transport import Cluster

BATCH_BYTES = 8 << 20
"""Size of a bulk request. Clusters refuse more than 100 MB by default, and keep each request in memory."""

WORKERS = 2
"""Concurrent requests: the next one is prepared while the cluster works on the last one."""

MISSING = "It is not there."
"""Why a paper was not updated."""

_TOO_LARGE = 413
_EVERY_DOCUMENTS = ("index_closed_exception",)
"""Errors that look specific to one document, but that every other document would cause too."""


def write(
    cluster: Cluster, alias: str, batches: Iterable[BulkRequest], *, loading: bool = False, unchanged: str = ""
) -> list[Refused]:
    """Write batches, several at once; durable on return. Return the documents that the cluster refused.

    Writes go through an alias: under the index's own name, one would create it again, without a mapping, after a
    deletion. The alias is empty if the lines name aliases. While `loading`, nobody searches yet, and every request
    creates a segment of its own: the cost of a graph grows faster than its size, so many small segments, merged in the
    background at the end, are faster (docs/benchmarks.md, Loading a cluster). `unchanged` is the reason by which a
    document that its update left as it was counts as refused; without it, it does not. Raises `UnavailableError` if the
    cluster can't be written to.
    """
    stopped = Event()
    params = {"require_alias": True, **({"refresh": True} if loading else {})}
    path = f"/{alias}/_bulk" if alias else "/_bulk"

    def send(batch: BulkRequest) -> list[Refused]:
        return _send(cluster, path, params, batch, stopped, unchanged)

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


def _write(send: Callable[[BulkRequest], list[Refused]], batch: BulkRequest) -> list[Refused]:
    try:
        return send(batch)
    except ClusterError as error:
        if error.status != _TOO_LARGE:
            raise
    # Some servers, and proxies in front of them, accept smaller requests than others.
    if len(batch.ids) == 1:
        return [Refused(batch.ids[0], "It is larger than a request to the cluster may be.")]
    half = len(batch.ids) // 2
    lines = half * (len(batch.lines) // len(batch.ids))
    parts = BulkRequest(batch.ids[:half], batch.lines[:lines]), BulkRequest(batch.ids[half:], batch.lines[lines:])
    return [refusal for part in parts for refusal in _write(send, part)]


def _send(
    cluster: Cluster, path: str, params: Mapping[str, Any], batch: BulkRequest, stopped: Event, unchanged: str
) -> list[Refused]:
    refused: list[Refused] = []
    per_item = len(batch.lines) // len(batch.ids)
    left = list(range(len(batch.ids)))

    def attempt() -> None:
        nonlocal left
        lines = [batch.lines[i * per_item + part] for i in left for part in range(per_item)]
        body = b"\n".join([*lines, b""])
        reply = cluster.call("POST", path, body, params=params, retry=ONCE)
        items = [next(iter(item.values())) for item in reply["items"]]
        if len(items) != len(left):
            raise ClusterError(f"{cluster.url} answered for {len(items)} of {len(left)} documents; read its log.")
        some_taken = any("error" not in item for item in items)
        again, why = [], ""
        for number, item in zip(left, items, strict=True):
            if "error" not in item:
                if unchanged and item.get("result") == "noop":
                    refused.append(Refused(batch.ids[number], unchanged))
                continue
            status, (kind, reason) = int(item["status"]), cause(item)
            if kind == "document_missing_exception":
                refused.append(Refused(batch.ids[number], MISSING))
                continue
            # An internal error of the server may be caused by the document or by the server: by the document, if others
            # succeeded.
            if (status == 400 and kind not in _EVERY_DOCUMENTS) or (status == 500 and some_taken):
                refused.append(Refused(batch.ids[number], f"{cluster.product.name} would not take it: {short(reason)}"))
            elif isinstance(error := failure(cluster.url, status, item), BusyError):
                again.append(number)
                why = reason
            else:
                raise error
        left = again
        if left:
            raise BusyError(
                f"{cluster.url} is too busy for {len(left)} documents ({short(why)}); try again later: it resumes.",
                429,
            )

    with_retries(cluster.writing, attempt, stopped)
    return refused
