"""Which requests some code makes of an engine, for those who ask."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_NOTED: ContextVar[list[str] | None] = ContextVar("noted", default=None)
"""Of each thread its own, so that searches at the same time don't note each other's requests."""


def note(request: str) -> None:
    """Note a request, and what it is for, if somebody wants to know."""
    noted = _NOTED.get()
    if noted is not None:
        noted.append(request)


@contextmanager
def requests_noted() -> Iterator[list[str]]:
    """Give the list of the requests that are made inside the block."""
    noted: list[str] = []
    token = _NOTED.set(noted)
    try:
        yield noted
    finally:
        _NOTED.reset(token)
