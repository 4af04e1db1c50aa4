"""The runtimes there are: a new one is one file and one line here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from corpora.errors import InputError
from encoders.runtimes import onnx, openvino
from encoders.runtimes.base import Prepare, Session
from encoders.runtimes.calibration import calibration_texts


@dataclass(frozen=True, slots=True)
class Runtime:
    """A way to run a graph.

    Attributes:
        name: What `--runtime` takes.
        prepare: Writes its files into a folder, from a float32 graph.
        load: Loads them, given the number of threads (0: all cores).
        calibration_texts: Texts to calibrate int8 on; empty for runtimes that need none.
    """

    name: str
    prepare: Prepare
    load: Callable[[Path, int], Session]
    calibration_texts: Callable[[], Sequence[str]]


RUNTIMES = {
    runtime.name: runtime
    for runtime in (
        Runtime("onnx", onnx.prepare, onnx.load, list),
        Runtime("openvino", openvino.prepare, openvino.load, calibration_texts),
    )
}


def get_runtime(name: str) -> Runtime:
    """Return a runtime by name, or raise `InputError` naming those there are."""
    if name not in RUNTIMES:
        raise InputError(f"There is no runtime {name!r}; choose one of {', '.join(RUNTIMES)}.")
    return RUNTIMES[name]
