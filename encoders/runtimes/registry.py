"""All runtimes. A new one needs one file and one line here."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import get_args

from corpora.deferred import deferred
from corpora.errors import InputError
from encoders.models.formats import Precision
from encoders.runtimes.base import Device, Runtime


def _runtime(
    name: str, precisions: tuple[Precision, ...], packages: tuple[str, ...], module: str, device: Device = "cpu"
) -> Runtime:
    """Return the runtime of a module, which is imported when it is used."""
    prepare, load = (deferred(f"encoders.runtimes.{module}", function) for function in ("prepare", "load"))
    if device == "cuda":
        prepare, load = partial(prepare, device=device), partial(load, device=device)
    return Runtime(name, precisions, packages, prepare, load, device=device)


def fastest_of(runtimes: Sequence[Runtime]) -> Runtime:
    """Return the runtime that runs the fastest of others."""
    prepare, load, version = (
        partial(deferred("encoders.runtimes.auto", function), runtimes) for function in ("prepare", "load", "version")
    )
    return Runtime("auto", get_args(Precision), (), prepare, load, version=version)


_SINGLE = (
    _runtime("onnx", ("int8", "fp32"), ("onnxruntime",), "onnx"),
    _runtime("openvino", ("int8", "bf16", "fp32"), ("openvino",), "openvino"),
    _runtime("torch", ("fp32", "bf16"), ("torch",), "torch"),
    _runtime("onnx-cuda", ("fp32",), ("onnxruntime",), "onnx", "cuda"),
    _runtime("torch-cuda", ("bf16", "fp32"), ("torch",), "torch", "cuda"),
)

# Not for auto: it is the same network, run by onnxruntime as ours is, and as fast.
_EXPORTER = _runtime("optimum", ("fp32",), ("optimum", "optimum.exporters.onnx"), "optimum")

# Not for auto either: no other runtime can run its models.
_FOREIGN = _runtime("transformers", ("fp32", "bf16"), ("torch", "transformers"), "transformers")

RUNTIMES = {runtime.name: runtime for runtime in (*_SINGLE, _EXPORTER, _FOREIGN, fastest_of(_SINGLE))}


def get_runtime(name: str, precision: Precision | None = None) -> Runtime:
    """Return a runtime by name, or raise `InputError` naming the available runtimes, or the precisions of this one."""
    if name not in RUNTIMES:
        raise InputError(f"There is no runtime {name!r}; choose one of {', '.join(RUNTIMES)}.")
    runtime = RUNTIMES[name]
    if precision not in (None, *runtime.precisions):
        raise InputError(
            f"The runtime {name} has no precision {precision}",
            f"choose <precision> {' or '.join(runtime.precisions)}, or another <runtime>",
        )
    return runtime
