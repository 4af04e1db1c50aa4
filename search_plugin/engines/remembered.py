"""Answers of an index that are remembered, because those for the words of ordinary queries repeat."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from threading import Lock
from typing import Generic, TypeVar

MOST = 20_000

T = TypeVar("T")


class Remembered(Generic[T]):
    """What was found for some words, such as how many papers hold them; the newest `most` answers.

    Threads may share it. `kept` says which answers to remember.
    """

    def __init__(self, kept: Callable[[T], object] = lambda _: True, most: int = MOST) -> None:
        self._kept, self._most = kept, most
        self._found: dict[str, T] = {}
        self._lock = Lock()

    def look_up(self, words: Sequence[str], find: Callable[[list[str]], Mapping[str, T]]) -> dict[str, T]:
        """Return an answer for each word; `find` gets the words without one, if there are any."""
        with self._lock:
            known = {word: self._found[word] for word in words if word in self._found}
        new = [word for word in words if word not in known]
        if not new:
            return known
        found = find(new)
        with self._lock:
            self._found.update({word: one for word, one in found.items() if self._kept(one)})
            for oldest in list(islice(self._found, max(0, len(self._found) - self._most))):
                del self._found[oldest]
        return {**known, **found}
