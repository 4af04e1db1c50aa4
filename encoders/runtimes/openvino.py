"""OpenVINO: the fastest for batches on a CPU with VNNI (docs/benchmarks.md, Encoding).

bf16 is computed as such only where the CPU has it (AVX512-BF16, AMX); elsewhere OpenVINO runs it in fp32. int8 is
computed in bytes only where their products don't saturate; elsewhere the same rounded values are multiplied in fp32.
"""

from __future__ import annotations

import sys
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

from corpora.cores import cores
from corpora.errors import InputError
from corpora.installed import extra, needing
from corpora.lazy import np
from encoders.models.formats import Precision
from encoders.runtimes.graph import write_graph
from encoders.runtimes.hardware import products_saturate
from encoders.runtimes.registry import RuntimeSource, Session

_FILE = "model.xml"
_PRECISION, _LONGEST = ["ses", "precision"], ["ses", "longest"]  # where a model file keeps them

_ROUNDED_IN_FP32 = {"LP_TRANSFORMS_MODE": "NO", "DYNAMIC_QUANTIZATION_GROUP_SIZE": 0}
"""Rounds states and weights as the graph says, multiplies them in fp32, and rounds nothing again."""

_STEP = 16
"""Batches are padded to a multiple of so many tokens: each new length costs OpenVINO as long as a query takes."""


def prepare(source: RuntimeSource, precision: Precision, folder: Path) -> None:
    """Write the graph in OpenVINO's form, its matrix products quantized where int8 is asked for."""
    openvino = _openvino()
    whole = folder / "whole.onnx"
    write_graph(source.weights, source.card, source.heads, whole, precision, "openvino")
    model = openvino.convert_model(str(whole))
    model.set_rt_info(precision, _PRECISION)
    model.set_rt_info(source.card.network.positions - source.card.network.first_position, _LONGEST)
    openvino.save_model(model, folder / _FILE, compress_to_fp16=False)
    for file in folder.glob("whole.onnx*"):
        file.unlink()


def load(folder: Path, threads: int) -> Session:
    """Load what `prepare` wrote; `InputError` if it is damaged."""
    try:
        model, compiled = open_model(folder / _FILE, threads)
        longest = int(_kept(model, _LONGEST))
    except (RuntimeError, ValueError) as error:
        raise InputError(f"{folder} holds an incomplete OpenVINO model; delete it, and it is created again.") from error
    idle: SimpleQueue[Any] = SimpleQueue()  # an inference request serves one caller at a time

    def run(ids: np.ndarray, mask: np.ndarray) -> list[np.ndarray]:
        try:
            request = idle.get_nowait()
        except Empty:
            request = compiled.create_infer_request()
        found = request.infer({"input_ids": _padded(ids, longest), "attention_mask": _padded(mask, longest)})
        vectors = [found[output].copy() for output in compiled.outputs]
        idle.put(request)
        return vectors

    return Session(run, at_once=threads or cores())


def open_model(file: Path, threads: int) -> tuple[Any, Any]:
    """Return OpenVINO's model of a file, and the same compiled with the settings that all models of ses have."""
    at_once = threads or cores()
    settings: dict[str, Any] = {"INFERENCE_NUM_THREADS": at_once, "NUM_STREAMS": at_once}
    core = _openvino().Core()
    model = core.read_model(file)
    # Without the hint a CPU with bf16 would silently run "fp32" in bf16.
    settings["INFERENCE_PRECISION_HINT"] = "bf16" if _kept(model, _PRECISION) == "bf16" else "f32"
    if products_saturate():
        settings |= _ROUNDED_IN_FP32
    return model, core.compile_model(model, "CPU", settings)


def _kept(model: Any, place: list[str]) -> str:
    return str(model.get_rt_info(place).value) if model.has_rt_info(place) else ""


def _padded(tokens: np.ndarray, longest: int) -> np.ndarray:
    """Return ids or mask, int64 (texts, tokens), with more columns of zeros."""
    length = tokens.shape[1]
    return np.pad(tokens, ((0, 0), (0, max(min(-length % _STEP, longest - length), 0))))


def _openvino() -> Any:
    # OpenVINO would report each import and conversion to Google Analytics, by processes that it forks off this one.
    sys.modules.setdefault("openvino_telemetry", None)  # type: ignore[arg-type]
    with needing("The openvino runtime is not installed", extra("openvino")):
        import openvino
    return openvino
