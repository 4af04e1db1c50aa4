"""Passes items from one thread to the next through a short queue, so that reading, encoding and writing overlap."""

from __future__ import annotations

import queue
import threading
from collections.abc import Generator, Iterator
from typing import TypeVar, cast

T = TypeVar("T")

_END = object()


_LEAVE = 1.5
"""How long a consumer that stops early waits for the thread (seconds)."""


def prefetch(items: Iterator[T], depth: int = 2, stopped: threading.Event | None = None) -> Generator[T, None, None]:
    """Run an iterator in its own thread, at most `depth` items ahead of the consumer.

    Args:
        items: Runs in the new thread.
        depth: Bounds the memory held between the two threads.
        stopped: Set when the consumer stops early: the iterator may look at it within an item that takes long.

    Yields:
        The items, in order. Errors of the iterator are raised here. If the consumer stops early, the thread stops too.
    """
    handed: queue.Queue[object] = queue.Queue(maxsize=depth)
    stopped = stopped or threading.Event()

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
        # The thread may be loading a model. It ends with the process, and what it still makes is not used.
        thread.join(_LEAVE)
