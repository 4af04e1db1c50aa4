"""Detects the CPU."""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

_INSTRUCTION_SETS: Mapping[str, frozenset[str]] = {
    "avx2": frozenset({"avx2", "avx2_0"}),
    "avx512": frozenset({"avx512f"}),
    "vnni": frozenset({"avx_vnni", "avx512_vnni", "avx512vnni"}),
    "amx": frozenset({"amx_int8"}),
    "neon": frozenset({"asimd", "neon", "AdvSIMD"}),
    "dotprod": frozenset({"asimddp", "FEAT_DotProd"}),
    "i8mm": frozenset({"i8mm", "FEAT_I8MM"}),
    "bf16": frozenset({"avx512_bf16", "amx_bf16", "bf16", "FEAT_BF16"}),
}
"""Those that decide how fast an encoder is, and what Linux and macOS call them."""


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

    @property
    def instruction_sets(self) -> tuple[str, ...]:
        """Those that decide how fast encoders are, such as `avx2` and `vnni`; empty where the system tells none."""
        present = set(self.features.split())
        return tuple(name for name, called in _INSTRUCTION_SETS.items() if called & present)


def processor() -> Processor:
    """Return what the system tells of its CPU."""
    if platform.system() == "Darwin":
        return Processor(_sysctl("-n", "machdep.cpu.brand_string").strip(), os.cpu_count() or 1, _features_of_macos())
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


def _features_of_macos() -> str:
    """Return what the processor has: the last parts of the keys of `sysctl hw.optional` with the value 1."""
    pairs = (line.partition(":") for line in _sysctl("hw.optional").splitlines())
    return " ".join(key.rpartition(".")[2] for key, _, value in pairs if value.strip() == "1")


def _sysctl(*arguments: str) -> str:
    """Return what macOS says, or nothing."""
    command = ["/usr/sbin/sysctl", *arguments]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout  # noqa: S603 - no input
    except OSError:
        return ""
