"""Bulk requests with every item's result looked at: written, refused with a reason, or sent again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from search_plugin.engines.base import Refused
from search_plugin.engines.cluster.documents import Batch
from search_plugin.engines.cluster.errors import BusyError, ClusterError, blockade, cause, failure
from search_plugin.engines.cluster.transport import with_patience

if TYPE_CHECKING:
    from search_plugin.engines.cluster.transport import Cluster

BATCH_BYTES = 4 << 20
"""Of a bulk request: larger ones gain nothing here and wait longer in the cluster's memory (docs/benchmarks.md)."""

WORKERS = 2
"""Requests under way at once: the next is made while the last is worked on."""

_LATER = (429, 502, 503, 504)
_NOT_THE_DOCUMENTS = (401, 403, 404)
"""Errors that every other document would meet too: no right to write, or the index is gone."""


def write(cluster: Cluster, index: str, batches: Iterable[Batch]) -> list[Refused]:
    """Write batches, several at once; durable on return.

    Args:
        cluster: Where.
        index: Its name in the cluster.
        batches: Rendered as they are taken.

    Returns:
        The documents that the cluster would not take.

    Raises:
        UnavailableError: If the cluster can't be written to.
    """
    with ThreadPoolExecutor(WORKERS, "bulk") as pool:
        refused: list[Refused] = []
        under_way: list[Any] = []
        try:
            for batch in batches:
                under_way.append(pool.submit(_write, cluster, index, batch))
                # No more than the workers can take is rendered, or memory would fill up with lines.
                if len(under_way) > WORKERS:
                    refused += under_way.pop(0).result()
            for done in under_way:
                refused += done.result()
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    return refused


def _write(cluster: Cluster, index: str, batch: Batch) -> list[Refused]:
    refused: list[Refused] = []
    per_item = len(batch.lines) // len(batch.ids)
    left = list(range(len(batch.ids)))

    def attempt() -> None:
        nonlocal left
        lines = [batch.lines[i * per_item + part] for i in left for part in range(per_item)]
        reply = cluster.call("POST", f"/{index}/_bulk", b"\n".join([*lines, b""]), patience=cluster.writing)
        items = reply["items"]
        if len(items) != len(left):
            raise ClusterError(f"{cluster.url} answered for {len(items)} of {len(left)} documents; look into its log.")
        again, told = [], ""
        for number, item in zip(left, items, strict=True):
            outcome: Mapping[str, Any] = next(iter(item.values()))
            status = int(outcome["status"])
            if "error" not in outcome:
                continue
            kind, reason = cause(outcome)
            if blocked := blockade(cluster.url, kind, reason):
                raise blocked
            if status in _NOT_THE_DOCUMENTS:
                raise failure(cluster.url, status, outcome)
            if status in _LATER:
                again.append(number)
                told = reason
            else:
                refused.append(Refused(batch.ids[number], f"{cluster.product.name} would not take it: {reason}"))
        left = again
        if left:
            raise BusyError(
                f"{cluster.url} is too busy for {len(left)} documents ({told[:200]}); "
                "run the same command again later: it goes on where it stopped.",
                429,
            )

    with_patience(cluster.writing, attempt)
    return refused
