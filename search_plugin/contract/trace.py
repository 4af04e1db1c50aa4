"""A record of what a search does: the time of each step, and the requests to its engine."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple

_NOTED: ContextVar[list[str] | None] = ContextVar("noted", default=None)
"""One per thread, so that concurrent searches don't record each other's requests."""


class Sent(NamedTuple):
    """A request to an engine as it was sent: path, parameters of the URL, and the JSON of the body or its bytes."""

    path: str
    params: Mapping[str, Any]
    body: Mapping[str, Any] | bytes


_SENT: ContextVar[list[Sent] | None] = ContextVar("sent", default=None)


def note(request: str, sent: Sent) -> None:
    """Record a request and its purpose, if a recorder is active."""
    noted, whole = _NOTED.get(), _SENT.get()
    if noted is not None:
        noted.append(request)
    if whole is not None:
        whole.append(sent)


@contextmanager
def recorded() -> Iterator[list[Sent]]:
    """Give the list in which the requests of the block will be, whole."""
    sent: list[Sent] = []
    token = _SENT.set(sent)
    try:
        yield sent
    finally:
        _SENT.reset(token)


class Clock:
    """Sums up milliseconds and engine requests by step."""

    def __init__(self) -> None:
        self._spent: dict[str, float] = {}
        self._requests: dict[str, list[str]] = {}

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Measure the time of the block, and record its requests."""
        requests: list[str] = []
        token = _NOTED.set(requests)
        begun = time.perf_counter()
        try:
            yield
        finally:
            _NOTED.reset(token)
        self._spent[name] = self._spent.get(name, 0.0) + (time.perf_counter() - begun) * 1000
        if requests:
            self._requests.setdefault(name, []).extend(requests)

    @property
    def milliseconds(self) -> Mapping[str, float]:
        """Milliseconds by step."""
        return {name: round(spent, 2) for name, spent in self._spent.items()}

    @property
    def requests(self) -> Mapping[str, tuple[str, ...]]:
        """Requests by step, without the steps that made none."""
        return {name: tuple(requests) for name, requests in self._requests.items()}
