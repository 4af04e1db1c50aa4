"""Handles Ctrl-C and SIGTERM: the current step is finished and saved first."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def asked_to_stop() -> Iterator[Callable[[], bool]]:
    """Record a signal instead of ending at once; a second signal ends at once.

    Yields:
        A function that returns whether there was a signal.
    """
    if threading.current_thread() is not threading.main_thread():
        # Only the main thread can handle signals.
        yield lambda: False
        return
    noted: list[int] = []

    def note(number: int, _: object) -> None:
        noted.append(number)
        _restore(before)

    before = {number: signal.signal(number, note) for number in _SIGNALS}
    try:
        yield lambda: bool(noted)
    finally:
        _restore(before)


def _restore(handlers: Mapping[signal.Signals, object]) -> None:
    for number, handler in handlers.items():
        signal.signal(number, handler)  # type: ignore[arg-type]
