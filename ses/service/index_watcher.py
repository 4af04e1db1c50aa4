"""An index by its name, as it is published now: by this process or by another one."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future, wait
from threading import Lock
from typing import NamedTuple

from corpora.errors import SesError, UnavailableError
from ses.indexes.open_index import OpenIndex

AWAY_SECONDS = 2.0
"""How long a failure of the engine is remembered: requests in this time are answered at once."""


class WatchedIndex(NamedTuple):
    """An open index, and the revision that it had when it was last looked at."""

    opened: OpenIndex
    revision: str


class IndexWatcher:
    """Holds an index open, and opens it again when another version is published; threads may share it.

    One thread at a time looks. The others wait for it, except while the engine is known to be away: then they get the
    error at once.

    Args:
        open_index: Opens the version that is published now.
        fresh_seconds: How long it is not looked at again.
        changed: Receives what is held, whenever that is another version or revision.
        clock: Returns seconds that never go back.
    """

    def __init__(
        self,
        open_index: Callable[[], OpenIndex],
        fresh_seconds: float,
        changed: Callable[[WatchedIndex], object] = lambda _: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._open, self._fresh, self._changed, self._clock = open_index, fresh_seconds, changed, clock
        self._last: WatchedIndex | UnavailableError | None = None
        self._until = 0.0  # when it is looked at again
        self._looking: Future[WatchedIndex] | None = None
        self._lock = Lock()

    def current(self, *, now: bool = False) -> WatchedIndex:
        """Return the published version of the index, at most `fresh_seconds` late.

        With `now`, it is looked for even if it was a moment ago. Raises `NotFoundError` if there is no such index, and
        `UnavailableError` if the engine does not answer, or did not a moment ago.
        """
        if now and (looking := self._looking):
            wait([looking])  # it may have looked before what this caller has seen
        with self._lock:
            last, looking = self._last, self._looking
            recent = self._clock() < self._until
            if recent and isinstance(last, WatchedIndex) and not now:
                return last
            if isinstance(last, UnavailableError) and (recent or looking):
                raise last
            first = looking is None
            if looking is None:
                looking = self._looking = Future()
        return self._look(looking) if first else looking.result()

    def _look(self, looking: Future[WatchedIndex]) -> WatchedIndex:
        try:
            found = self._published()
        except BaseException as error:
            with self._lock:
                # An engine that is away costs time at each look. What is missing may be made at any moment.
                if isinstance(error, UnavailableError):
                    self._last, self._until = error, self._clock() + AWAY_SECONDS
                elif isinstance(error, SesError):
                    self._last = None
                self._looking = None
            looking.set_exception(error)
            raise
        with self._lock:
            last, self._last, self._until = self._last, found, self._clock() + self._fresh
            self._looking = None
        looking.set_result(found)
        if found is not last:
            self._changed(found)
        return found

    def _published(self) -> WatchedIndex:
        opened = self._open()
        try:
            found = WatchedIndex(opened, opened.index.revision())
        except UnavailableError:  # it was dropped or replaced in between, or the engine is away
            opened = self._open()
            found = WatchedIndex(opened, opened.index.revision())
        held = self._last
        return held if isinstance(held, WatchedIndex) and _facts(held) == _facts(found) else found


def _facts(held: WatchedIndex) -> object:
    return held.opened.name, held.revision, held.opened.index.schema
