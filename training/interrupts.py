"""Ctrl-C, and the signal by which systems end a program: the step at hand is finished and saved first."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def asked_to_stop() -> Iterator[Callable[[], bool]]:
    """Note a signal in place of ending at once; a second one ends at once.

    Yields:
        Whether there was one.
    """
    if threading.current_thread() is not threading.main_thread():
        # Signals belong to the main thread.
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
