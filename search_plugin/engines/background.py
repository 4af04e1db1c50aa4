"""An event loop in a thread of its own, for libraries that are fastest when used asynchronously.

Callers may stand in any thread, a notebook's running loop included, where `asyncio.run` would refuse.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from functools import cache
from typing import Any, TypeVar

T = TypeVar("T")


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end and return its result, or raise what it raised."""
    return asyncio.run_coroutine_threadsafe(work, _loop()).result()


@cache
def _loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="search legs", daemon=True).start()
    return loop
