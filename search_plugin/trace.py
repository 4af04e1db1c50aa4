"""A record of the requests that a block of code sends to an engine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_NOTED: ContextVar[list[str] | None] = ContextVar("noted", default=None)
"""One per thread, so that concurrent searches don't record each other's requests."""


def note(request: str) -> None:
    """Record a request and its purpose, if a recorder is active."""
    noted = _NOTED.get()
    if noted is not None:
        noted.append(request)


@contextmanager
def requests_noted() -> Iterator[list[str]]:
    """Yield the list of requests that are sent inside the block."""
    noted: list[str] = []
    token = _NOTED.set(noted)
    try:
        yield noted
    finally:
        _NOTED.reset(token)
