"""int8 for a graph's matrix products: weights scaled by output channel, activations by token.

Each token's states are divided by the largest of their absolute values, rounded to 8 bits between -1 and 1, and the
product is multiplied by the same value again: a scale for each row of the one factor and each column of the other
(Dettmers et al. 2022, LLM.int8(), section 2.2). A token's rounding depends only on its own states, so a vector
is the same in every batch, and does not depend on the other formats computed with it. A scale for a whole tensor,
measured at run time or in advance, would depend on both and be less precise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import onnx

_LEVELS = 127  # on either side of 0
_CONSTANTS = ("int8.scale", "int8.zero", "int8.axis", "int8.least")


def quantized(
    nodes: Sequence[onnx.NodeProto], arrays: Mapping[str, np.ndarray]
) -> tuple[list[onnx.NodeProto], dict[str, np.ndarray]]:
    """Return a graph's parts with its products by constant weights in int8.

    They are written in ONNX's own operators (QuantizeLinear, DequantizeLinear), which onnxruntime and OpenVINO both
    turn into their int8 products.

    Args:
        nodes: In the order they run.
        arrays: The graph's constants, float32 weights among them.

    Returns:
        Nodes and constants that take the place of the given ones.
    """
    from onnx import helper

    weights = sorted({node.input[1] for node in nodes if node.op_type == "MatMul"} & set(arrays))
    made = [_restored(weight) for weight in weights]
    scaled: set[str] = set()
    for node in nodes:
        if node.op_type != "MatMul" or node.input[1] not in weights:
            made.append(node)
            continue
        states, weight = node.input
        if states not in scaled:  # several products may read the same states
            scaled.add(states)
            made += _by_token(states)
        product = f"{node.output[0]}.unit"
        made.append(helper.make_node("MatMul", [f"{states}.unit", f"{weight}.restored"], [product]))
        made.append(helper.make_node("Mul", [product, f"{states}.scale"], list(node.output)))
    kept = {name: array for name, array in arrays.items() if name not in weights}
    kept |= dict(zip(_CONSTANTS, _constants(), strict=True))
    for weight in weights:
        kept[f"{weight}.int8"], kept[f"{weight}.scale"] = _by_column(arrays[weight])
    return made, kept


def _by_token(states: str) -> list[onnx.NodeProto]:
    """Return the nodes that give `.scale`, (texts, tokens, 1), and `.unit`, states between -1 and 1 as 8 bits tell."""
    from onnx import helper

    scale, zero, axis, least = _CONSTANTS
    sizes, largest, divided, rounded = (f"{states}.{name}" for name in ("sizes", "largest", "divided", "rounded"))
    return [
        helper.make_node("Abs", [states], [sizes]),
        helper.make_node("ReduceMax", [sizes, axis], [largest], keepdims=1),
        helper.make_node("Max", [largest, least], [f"{states}.scale"]),
        helper.make_node("Div", [states, f"{states}.scale"], [divided]),
        helper.make_node("QuantizeLinear", [divided, scale, zero], [rounded]),
        helper.make_node("DequantizeLinear", [rounded, scale, zero], [f"{states}.unit"]),
    ]


def _by_column(weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return a weight (inputs, outputs) in int8, and the scale of each output, float32 (outputs,)."""
    import numpy as np

    # A scale for each: where one output's weights are far larger than the others', one for all would lose the rest.
    scales = np.maximum(np.abs(weight).max(axis=0) / _LEVELS, np.finfo(np.float32).tiny).astype(np.float32)
    return np.rint(weight / scales).astype(np.int8), scales


def _restored(weight: str) -> onnx.NodeProto:
    from onnx import helper

    return helper.make_node("DequantizeLinear", [f"{weight}.int8", f"{weight}.scale"], [f"{weight}.restored"], axis=1)


def _constants() -> list[np.ndarray]:
    import numpy as np

    # uint8 around 128, which processors multiply with int8 faster than int8 itself.
    return [np.array(1 / _LEVELS, np.float32), np.array(128, np.uint8), np.array([-1]), np.array(1e-12, np.float32)]
