"""OpenVINO: the fastest runtime on CPUs with VNNI (docs/benchmarks.md). NNCF calibrates its int8 ranges once."""

from __future__ import annotations

import contextlib
import logging
import sys
import threading
from typing import TYPE_CHECKING, Any

from corpora.errors import InputError, UnavailableError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import numpy as np
    import onnx

    from encoders.batching import Batch
    from encoders.runtimes.base import Precision, Session

_FILE = "model.xml"


def prepare(graph: onnx.ModelProto, precision: Precision, folder: Path, calibration: Sequence[Batch]) -> None:
    """Write the graph in OpenVINO's form, quantized on the calibration batches where int8 is asked for."""
    import onnx

    openvino = _openvino()
    source = folder / "fp32.onnx"
    onnx.save(graph, str(source))
    model = openvino.convert_model(str(source))
    if precision == "int8":
        model = _quantized(model, calibration)
    openvino.save_model(model, folder / _FILE, compress_to_fp16=False)
    source.unlink()


def load(folder: Path, threads: int) -> Session:
    """Load what `prepare` wrote.

    Args:
        folder: Where it wrote it.
        threads: Cores to use; 0 for all.

    Returns:
        A function that can be called from several threads.

    Raises:
        InputError: If the files are damaged.
    """
    settings: dict[str, Any] = {"INFERENCE_NUM_THREADS": threads} if threads else {}
    # Without the hint a CPU with bf16 would silently run "fp32" in bf16.
    settings["INFERENCE_PRECISION_HINT"] = "f32"
    try:
        compiled = _openvino().Core().compile_model(folder / _FILE, "CPU", settings)
    except RuntimeError as error:
        raise InputError(f"{folder} holds no whole OpenVINO model; delete it and it is made anew.") from error
    requests = threading.local()  # an inference request serves one caller at a time

    def run(ids: np.ndarray, mask: np.ndarray) -> np.ndarray:
        if not hasattr(requests, "mine"):
            requests.mine = compiled.create_infer_request()
        vectors: np.ndarray = requests.mine.infer({"input_ids": ids, "attention_mask": mask})["vector"].copy()
        return vectors

    return run


def _quantized(model: Any, calibration: Sequence[Batch]) -> Any:
    # NNCF prints its progress on standard output, which belongs to our own results.
    with contextlib.redirect_stdout(sys.stderr):
        try:
            import nncf
        except ImportError:
            raise UnavailableError("OpenVINO's int8 needs NNCF: run `pip install 'ses[openvino]'`.") from None
        nncf.set_log_level(logging.ERROR)
        samples = [{"input_ids": batch.ids, "attention_mask": batch.mask} for batch in calibration]
        kind = nncf.ModelType.TRANSFORMER
        return nncf.quantize(model, nncf.Dataset(samples), model_type=kind, subset_size=len(samples))


def _openvino() -> Any:
    try:
        import openvino
    except ImportError:
        raise UnavailableError("The openvino runtime is not installed: run `pip install 'ses[openvino]'`.") from None
    return openvino
