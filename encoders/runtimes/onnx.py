"""onnxruntime: the default runtime.

On NVIDIA GPUs it runs in fp32, by the CUDA provider of the package onnxruntime-gpu.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from corpora.cores import cores
from corpora.errors import InputError, UnavailableError
from corpora.installed import extra
from corpora.lazy import np
from encoders.models.formats import Precision
from encoders.runtimes.hardware import products_saturate
from encoders.runtimes.registry import Device, RuntimeSource, Session

_FILE = "model.onnx"
_CUDA = "CUDAExecutionProvider"


def prepare(source: RuntimeSource, precision: Precision, folder: Path, device: Device = "cpu") -> None:
    """Write the graph into a folder, its matrix products quantized where int8 is asked for."""
    from encoders.runtimes.graph import write_graph

    _providers(device)
    write_graph(source.weights, source.card, source.heads, folder / _FILE, precision)


def load(folder: Path, threads: int, device: Device = "cpu") -> Session:
    """Load what `prepare` wrote; `InputError` if it is damaged, `UnavailableError` if the GPU can't be used."""
    providers = _providers(device)
    try:
        session = open_session(folder / _FILE, providers)
    except Exception as error:
        raise InputError(f"{folder} holds an incomplete ONNX file; delete it, and it is created again.") from error
    if device == "cuda" and _CUDA not in session.get_providers():
        # Otherwise it would silently run on the CPU.
        raise UnavailableError(
            "onnxruntime can't use the GPU",
            "install NVIDIA's driver, and the CUDA and cuDNN that it asks for by "
            "`pip install 'onnxruntime-gpu[cuda,cudnn]'`, or choose <runtime=onnx>",
        )

    def run(ids: np.ndarray, mask: np.ndarray) -> list[np.ndarray]:
        vectors: list[np.ndarray] = session.run(None, {"input_ids": ids, "attention_mask": mask})
        return vectors

    return Session(run, at_once=(threads or cores()) if device == "cpu" else 1)


def open_session(graph: Path | bytes, providers: Sequence[Any] = ("CPUExecutionProvider",)) -> Any:
    """Return onnxruntime's session of a graph, given as file or content, with the options that all of ses have.

    It runs a batch by the thread that calls it.
    """
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4  # what fails is raised too
    if products_saturate():
        # Takes int8 weights as uint8, whose products are added in 32 bits. With VNNI it would only cost time.
        options.add_session_config_entry("session.x64quantprecision", "1")
    # Alone, a GELU takes two thirds of the time of one that adds the bias too.
    return onnxruntime.InferenceSession(
        graph, options, providers=list(providers), disabled_optimizers=["BiasGeluFusion"]
    )


def _providers(device: Device) -> list[Any]:
    """Return what onnxruntime is to run a graph with; the CPU does what a GPU can't, such as reading a shape."""
    import onnxruntime

    if device == "cpu":
        return ["CPUExecutionProvider"]
    if _CUDA not in onnxruntime.get_available_providers():
        raise UnavailableError(
            f"The onnxruntime here can't use GPUs: run `pip install {extra('gpu')}`, then "
            "`pip install --force-reinstall --no-deps onnxruntime-gpu`, since the package for CPUs has the same folder."
        )
    # It finds the libraries of pip's packages only on request, and prints those it does not find.
    with contextlib.redirect_stdout(sys.stderr):
        onnxruntime.preload_dlls()
    # Without this, products are of 10-bit fractions (TF32), which is not fp32.
    return [(_CUDA, {"use_tf32": "0"}), "CPUExecutionProvider"]
