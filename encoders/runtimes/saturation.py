"""Whether products of bytes saturate on this processor, as they do on x86-64 without VNNI.

There, AVX2 and AVX-512 add two products of uint8 and int8 in 16 bits, and cut the sum at 32,767 (VPMADDUBSW in Intel's
Software Developer's Manual). The runtimes use this instruction unless told otherwise. A trial decides, not the name
of an instruction set: not every system lists them, and under emulation Linux lists those of the host.
"""

from __future__ import annotations

from functools import cache

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
    import numpy as np
    import onnxruntime

    left, right = _LARGEST
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(TRIAL, options, providers=["CPUExecutionProvider"])
    given = {"a": np.full((1, 2), left, np.uint8), "b": np.full((2, 1), right, np.int8)}
    return bool(session.run(None, given)[0].item() != 2 * left * right)
