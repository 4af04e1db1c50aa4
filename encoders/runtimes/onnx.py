"""onnxruntime: the default runtime. Its int8 scales weights per output channel, activations as they come."""

from __future__ import annotations

from typing import TYPE_CHECKING

from corpora.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import numpy as np
    import onnx

    from encoders.batching import Batch
    from encoders.runtimes.base import Precision, Session

_FILE = "model.onnx"


def prepare(graph: onnx.ModelProto, precision: Precision, folder: Path, calibration: Sequence[Batch]) -> None:  # noqa: ARG001 - dynamic int8 needs no calibration
    """Write the graph into a folder, its matrix products quantized where int8 is asked for."""
    import onnx

    if precision == "fp32":
        onnx.save(graph, str(folder / _FILE))
        return
    from onnxruntime.quantization import QuantType, quantize_dynamic

    source = folder / "fp32.onnx"
    onnx.save(graph, str(source))
    # Per channel: where one channel's weights are far larger than the others', one scale for all would lose the rest.
    quantize_dynamic(
        source, folder / _FILE, op_types_to_quantize=["MatMul"], per_channel=True, weight_type=QuantType.QInt8
    )
    source.unlink()


def load(folder: Path, threads: int) -> Session:
    """Load what `prepare` wrote.

    Args:
        folder: Where it wrote it.
        threads: Cores to use; 0 for all.

    Returns:
        A function that can be called from several threads.

    Raises:
        InputError: If the file is damaged.
    """
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3
    try:
        session = onnxruntime.InferenceSession(folder / _FILE, options, providers=["CPUExecutionProvider"])
    except Exception as error:
        raise InputError(f"{folder} holds no whole ONNX file; delete it and it is made anew.") from error

    def run(ids: np.ndarray, mask: np.ndarray) -> np.ndarray:
        vectors: np.ndarray = session.run(["vector"], {"input_ids": ids, "attention_mask": mask})[0]
        return vectors

    return run
