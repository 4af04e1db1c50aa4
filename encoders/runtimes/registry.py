"""The runtimes there are: a new one is one file and one line here."""

from __future__ import annotations

from functools import partial

from corpora.errors import InputError
from encoders.runtimes import auto, onnx, openvino, optimum, torch, transformers
from encoders.runtimes.base import Precision, Runtime

_SINGLE = (
    Runtime("onnx", ("int8", "fp32"), ("onnxruntime",), onnx.prepare, onnx.load),
    Runtime("openvino", ("int8", "bf16", "fp32"), ("openvino",), openvino.prepare, openvino.load),
    Runtime("torch", ("fp32", "bf16"), ("torch",), torch.prepare, torch.load),
    Runtime(
        "onnx-cuda",
        ("fp32",),
        ("onnxruntime",),
        partial(onnx.prepare, device="cuda"),
        partial(onnx.load, device="cuda"),
        device="cuda",
    ),
    Runtime(
        "torch-cuda",
        ("bf16", "fp32"),
        ("torch",),
        partial(torch.prepare, device="cuda"),
        partial(torch.load, device="cuda"),
        device="cuda",
    ),
)

# Not for auto: it is the same network, run by onnxruntime as ours is, and as fast.
_EXPORTER = Runtime("optimum", ("fp32",), ("optimum", "optimum.exporters.onnx"), optimum.prepare, optimum.load)

# Not for auto either: what it runs, no other can.
_FOREIGN = Runtime("transformers", ("fp32", "bf16"), ("torch", "transformers"), transformers.prepare, transformers.load)

RUNTIMES = {runtime.name: runtime for runtime in (*_SINGLE, _EXPORTER, _FOREIGN, auto.fastest_of(_SINGLE))}


def get_runtime(name: str, precision: Precision | None = None) -> Runtime:
    """Return a runtime by name, or raise `InputError` naming those there are, or the precisions it has."""
    if name not in RUNTIMES:
        raise InputError(f"There is no runtime {name!r}; choose one of {', '.join(RUNTIMES)}.")
    runtime = RUNTIMES[name]
    if precision not in (None, *runtime.precisions):
        raise InputError(
            f"The runtime {name} has no precision {precision}",
            f"choose <precision> {' or '.join(runtime.precisions)}, or another <runtime>",
        )
    return runtime
