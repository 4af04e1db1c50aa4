"""Detects the CPU."""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import NamedTuple


class Processor(NamedTuple):
    """What decides how fast a CPU is at what.

    Attributes:
        name: As its maker calls it.
        cores: How many there are.
        features: Its instruction sets, where the system tells; a virtual machine may hide some of those of its name.
    """

    name: str
    cores: int
    features: str


def processor() -> Processor:
    """Return what the system tells of its CPU."""
    told = _told()
    name = told.get("model name") or platform.processor() or platform.machine()
    return Processor(name, os.cpu_count() or 1, told.get("flags") or told.get("Features", ""))


def _told() -> dict[str, str]:
    """Return what Linux says of the last of the cores; elsewhere nothing."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return {}
    pairs = (line.partition(":") for line in lines)
    return {key.strip(): value.strip() for key, _, value in pairs}
