"""Passes items from one thread to the next through a short queue, so that reading, encoding and writing overlap."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from typing import TypeVar, cast

T = TypeVar("T")

_END = object()


def prefetch(items: Iterator[T], depth: int = 2) -> Iterator[T]:
    """Run an iterator in its own thread, at most `depth` items ahead of the consumer.

    Args:
        items: Runs in the new thread.
        depth: Bounds the memory held between the two threads.

    Yields:
        The items, in order. Errors of the iterator are raised here. If the consumer stops early, the thread stops too.
    """
    handed: queue.Queue[object] = queue.Queue(maxsize=depth)
    stopped = threading.Event()

    def put(item: object) -> None:
        while not stopped.is_set():
            try:
                handed.put(item, timeout=0.1)
            except queue.Full:
                continue
            return

    def run() -> None:
        try:
            for item in items:
                put(item)
                if stopped.is_set():
                    return
            put(_END)
        except BaseException as error:  # noqa: BLE001 - it is raised again in the taker's thread
            put(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        while (item := handed.get()) is not _END:
            if isinstance(item, BaseException):
                raise item
            yield cast("T", item)
    finally:
        stopped.set()
        thread.join()
