"""How many cores this process may use."""

from __future__ import annotations

import math
import os
from contextlib import suppress
from pathlib import Path

QUOTA = Path("/sys/fs/cgroup/cpu.max")
"""Where Linux says how much processor time a container has: microseconds, or `max`, of a period."""


def cores() -> int:
    """Return how many cores this process may use, which can be fewer than the machine has."""
    there = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    with suppress(OSError, ValueError):
        given, period = QUOTA.read_text(encoding="ascii").split()
        if given != "max":
            return max(1, min(there, math.ceil(int(given) / int(period))))
    return there
