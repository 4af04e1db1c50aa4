"""What runs an encoder's graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    import onnx

    from encoders.batching import Batch

Precision = Literal["int8", "fp32"]

Session = Callable[["np.ndarray", "np.ndarray"], "np.ndarray"]
"""Token ids and mask, both int64 (batch, length), to vectors, float32 (batch, dimension)."""

Prepare = Callable[["onnx.ModelProto", Precision, "Path", Sequence["Batch"]], None]
"""Writes the runtime's own files into a folder, from a float32 graph; the batches serve those that calibrate int8."""
