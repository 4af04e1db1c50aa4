"""What the machine can do: its CPU, whether products of bytes saturate on it, and whether it has a GPU for CUDA.

Products saturate on x86-64 without VNNI. There, AVX2 and AVX-512 add two products of uint8 and int8 in 16 bits, and cut
the sum at 32,767 (VPMADDUBSW in Intel's Software Developer's Manual). The runtimes use this instruction unless they are
set otherwise. A trial decides, not the name of an instruction set: not every system lists them, and under emulation
Linux lists those of the host.
"""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

from corpora.lazy import np

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
"""Instruction sets that decide how fast an encoder is, with their names in Linux and macOS."""


class Processor(NamedTuple):
    """What decides how fast a CPU is at what.

    Attributes:
        name: Name by its maker.
        cores: Number of cores.
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
    facts = _cpuinfo()
    name = facts.get("model name") or platform.processor() or platform.machine()
    return Processor(name, os.cpu_count() or 1, facts.get("flags") or facts.get("Features", ""))


def _cpuinfo() -> dict[str, str]:
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


_LARGEST = (255, 127)
"""The largest uint8 and int8: one product of them fits in 16 bits, the sum of two does not."""

TRIAL = (
    b'\x08\n:=\n\x18\n\x01a\n\x01b\x12\x01y"\rMatMulInteger\x12\x00Z\t\n\x01a\x12\x04\n\x02\x08\x02'
    b"Z\t\n\x01b\x12\x04\n\x02\x08\x03b\t\n\x01y\x12\x04\n\x02\x08\x06B\x04\n\x00\x10\x14"
)
"""An ONNX graph of one node, y = MatMulInteger(a, b), as `onnx.helper` writes it: onnx takes long to import."""


@cache
def products_saturate() -> bool:
    """Return whether onnxruntime's plain product of uint8 and int8 is wrong for large values here."""
    import onnxruntime

    left, right = _LARGEST
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(TRIAL, options, providers=["CPUExecutionProvider"])
    given = {"a": np.full((1, 2), left, np.uint8), "b": np.full((2, 1), right, np.int8)}
    return bool(session.run(None, given)[0].item() != 2 * left * right)


def has_device() -> bool:
    """Return whether NVIDIA's driver is installed and sees a GPU.

    The driver's management library is asked: torch takes seconds to import, and asking CUDA itself would leave
    processes that are forked later without it.
    """
    import ctypes

    for name in ("libnvidia-ml.so.1", "nvml.dll"):
        try:
            driver = ctypes.CDLL(name)
        except OSError:
            continue
        count = ctypes.c_uint(0)
        if driver.nvmlInit_v2() == 0:
            driver.nvmlDeviceGetCount_v2(ctypes.byref(count))
            driver.nvmlShutdown()
        return count.value > 0
    return False
