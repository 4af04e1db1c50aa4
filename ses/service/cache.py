"""Answers that are kept in memory while they are right, and computed once for all who ask at the same time."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from threading import Lock
from typing import Generic, NamedTuple, TypeVar

T = TypeVar("T")


class _Kept(NamedTuple, Generic[T]):
    """An answer, its size (bytes), and until when it is used."""

    answer: T
    size: int
    until: float


class Cache(Generic[T]):
    """Keeps the answers that were used last; threads may share it.

    Args:
        most: Bytes that all answers may take together; 0 keeps none.
        size: Returns about how many bytes an answer takes.
        seconds: How long an answer is used.
        counted: Receives `hit` or `miss` for each question, or `shared` where the answer was being computed already.
        clock: Returns seconds that never go back.
    """

    def __init__(
        self,
        most: int,
        size: Callable[[T], int],
        *,
        seconds: float = float("inf"),
        counted: Callable[[str], object] = lambda _: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._most, self._size, self._seconds, self._counted, self._clock = most, size, seconds, counted, clock
        self._kept: OrderedDict[Hashable, _Kept[T]] = OrderedDict()
        self._running: dict[Hashable, Future[T]] = {}
        self._bytes = 0
        self._lock = Lock()

    @property
    def bytes(self) -> int:
        """How many bytes the answers take."""
        return self._bytes

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return the answer that is kept, or make it.

        Threads that ask for it while one makes it wait for that one. An error is theirs too, and is not kept.
        """
        with self._lock:
            kept = self._kept.get(key)
            if kept and self._clock() < kept.until:
                self._kept.move_to_end(key)
                running, first = None, False
            else:
                first = key not in self._running
                running = self._running.setdefault(key, Future())
        self._counted("hit" if running is None else "miss" if first else "shared")
        if running is None:
            return kept.answer  # type: ignore[union-attr]  # it is kept where nothing runs
        return self._made(key, make, running) if first else running.result()

    def _made(self, key: Hashable, make: Callable[[], T], running: Future[T]) -> T:
        try:
            answer = make()
            size = self._size(answer)
        except BaseException as error:
            with self._lock:
                del self._running[key]
            running.set_exception(error)
            raise
        with self._lock:
            self._keep(key, _Kept(answer, size, self._clock() + self._seconds))
            del self._running[key]
        running.set_result(answer)
        return answer

    def _keep(self, key: Hashable, kept: _Kept[T]) -> None:
        if before := self._kept.pop(key, None):
            self._bytes -= before.size
        if kept.size > self._most:
            return
        self._kept[key] = kept
        self._bytes += kept.size
        while self._bytes > self._most:
            _, oldest = self._kept.popitem(last=False)
            self._bytes -= oldest.size
