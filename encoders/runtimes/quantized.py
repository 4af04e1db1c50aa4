"""int8 for a graph's matrix products: weights scaled by output channel, activations by token.

Each token's states are divided by the largest of their absolute values, rounded to 8 bits between -1 and 1, and the
product is multiplied by the same value again: a scale for each row of the one factor and each column of the other
(Dettmers et al. 2022, LLM.int8(), section 2.2). A token's rounding depends only on its own states, so a vector
is the same in every batch, and does not depend on the other formats computed with it. A scale for a whole tensor,
measured at run time or in advance, would depend on both and be less precise.

Products of integers are the same on every processor, but what is rounded comes from operators in float32. A last bit
there can round a state to the next integer, and after some layers a vector differs by as much as int8 differs from
fp32. onnxruntime's softmax adds in an order that depends on the width of the processor's vectors, so it is written
here in parts, which don't. Then all x86-64 processors give the same vectors with onnxruntime. OpenVINO's operators
depend on the processor in any case, and it runs a whole softmax with the products around it as one operator.

The products are written in ONNX's own operators (QuantizeLinear, DequantizeLinear), which onnxruntime and OpenVINO both
turn into their int8 products. Around the products, each library gets the form that it runs fastest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
import onnx
from onnx import helper

_LEVELS = 127  # on either side of 0
_CONSTANTS = ("int8.scale", "int8.zero", "int8.axis", "int8.least", "int8.one", "int8.gelu")

GraphReader = Literal["onnxruntime", "openvino"]
"""The library that runs a graph."""


def quantized(
    nodes: Sequence[onnx.NodeProto], arrays: Mapping[str, np.ndarray], reader: GraphReader
) -> tuple[list[onnx.NodeProto], dict[str, np.ndarray]]:
    """Return a graph's nodes and constants, with products by constants in int8; equal constants are one array."""
    activated = {node.output[0] for node in nodes if node.op_type == "Gelu"}
    weights = {node.input[1] for node in nodes if node.op_type == "MatMul"} & set(arrays)
    columns = {weight: _by_column(arrays[weight]) for weight in weights}
    kept = {name: array for name, array in arrays.items() if name not in weights}
    kept |= dict(zip(_CONSTANTS, _constants(), strict=True))
    made: list[onnx.NodeProto] = []
    scaled: set[str] = set()
    for node in nodes:
        if node.op_type == "Softmax" and reader == "onnxruntime":
            made += _softmax(node)
            continue
        if node.op_type != "MatMul" or node.input[1] not in weights:
            made.append(node)
            continue
        states, weight = node.input
        if states not in scaled:  # several products may read the same states
            scaled.add(states)
            rounded = _by_token if reader == "openvino" else _by_row
            made += rounded(states, activated=states in activated)
        # A name for each product: where onnxruntime takes a weight as uint8, it fails if several share it.
        product, own = f"{node.output[0]}.unit", f"{weight}.{node.output[0]}"
        kept[f"{own}.int8"], kept[f"{own}.scale"] = columns[weight]
        made.append(_restored(own))
        made.append(helper.make_node("MatMul", [f"{states}.unit", f"{own}.restored"], [product]))
        made.append(helper.make_node("Mul", [product, f"{states}.scale"], list(node.output)))
    return made, kept


def _by_token(states: str, *, activated: bool) -> list[onnx.NodeProto]:
    """Return the nodes that give `.scale`, (texts, tokens, 1), and `.unit`, states between -1 and 1 as 8 bits tell."""
    scale, zero, *_ = _CONSTANTS
    divided, rounded = f"{states}.divided", f"{states}.rounded"
    return [
        *_largest(states, activated=activated),
        helper.make_node("Div", [states, f"{states}.scale"], [divided]),
        helper.make_node("QuantizeLinear", [divided, scale, zero], [rounded]),
        helper.make_node("DequantizeLinear", [rounded, scale, zero], [f"{states}.unit"]),
    ]


def _by_row(states: str, *, activated: bool) -> list[onnx.NodeProto]:
    """Return the nodes of `_by_token` for onnxruntime, which divides and rounds at once where each row has a scale."""
    scale, zero, axis, *_ = _CONSTANTS
    names = ("shape", "width", "sides", "rows", "column", "steps", "count", "zeros", "bytes", "rounded")
    shape, width, sides, rows, column, steps, count, zeros, as_bytes, rounded = (f"{states}.{name}" for name in names)
    return [
        *_largest(states, activated=activated),
        helper.make_node("Shape", [states], [shape]),
        helper.make_node("Shape", [states], [width], start=-1),
        helper.make_node("Concat", [axis, width], [sides], axis=0),
        helper.make_node("Reshape", [states, sides], [rows]),
        helper.make_node("Reshape", [f"{states}.scale", axis], [column]),
        helper.make_node("Mul", [column, scale], [steps]),
        helper.make_node("Shape", [steps], [count]),
        helper.make_node("Expand", [zero, count], [zeros]),
        helper.make_node("QuantizeLinear", [rows, steps, zeros], [as_bytes], axis=0),
        helper.make_node("Reshape", [as_bytes, shape], [rounded]),
        helper.make_node("DequantizeLinear", [rounded, scale, zero], [f"{states}.unit"]),
    ]


def _largest(states: str, *, activated: bool) -> list[onnx.NodeProto]:
    """Return the nodes that give `.scale`: each token's largest absolute value, and no less than a small one.

    What a GELU returns is no less than -.17, so its largest value says enough if it is more than that.
    """
    *_, axis, least, _, gelu = _CONSTANTS
    sizes, largest = f"{states}.sizes", f"{states}.largest"
    return [
        *([] if activated else [helper.make_node("Abs", [states], [sizes])]),
        helper.make_node("ReduceMax", [states if activated else sizes, axis], [largest], keepdims=1),
        helper.make_node("Max", [largest, gelu if activated else least], [f"{states}.scale"]),
    ]


def _softmax(node: onnx.NodeProto) -> list[onnx.NodeProto]:
    """Return the nodes that take the place of a softmax over the last axis.

    A product with ones adds up: its order is the same for every length of padding too, unlike that of ReduceSum.
    """
    (logits,), (shares,) = node.input, node.output
    axis = _CONSTANTS[2]
    largest, below, powers, total = (f"{shares}.{name}" for name in ("largest", "below", "powers", "total"))
    shape, column, ones = (f"{shares}.{name}" for name in ("shape", "column", "ones"))
    one = helper.make_tensor("one", 1, [1], [1.0])
    return [
        helper.make_node("ReduceMax", [logits, axis], [largest], keepdims=1),
        helper.make_node("Sub", [logits, largest], [below]),
        helper.make_node("Exp", [below], [powers]),
        helper.make_node("Shape", [logits], [shape], start=-1),
        helper.make_node("Concat", [shape, "int8.one"], [column], axis=0),
        helper.make_node("ConstantOfShape", [column], [ones], value=one),
        helper.make_node("MatMul", [powers, ones], [total]),
        helper.make_node("Div", [powers, total], [shares]),
    ]


def _by_column(weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return a weight (inputs, outputs) in int8, and the scale of each output, float32 (outputs,)."""
    # A scale for each: where one output's weights are far larger than the others', one for all would lose the rest.
    scales = np.maximum(np.abs(weight).max(axis=0) / _LEVELS, np.finfo(np.float32).tiny).astype(np.float32)
    return np.rint(weight / scales).astype(np.int8), scales


def _restored(weight: str) -> onnx.NodeProto:
    return helper.make_node("DequantizeLinear", [f"{weight}.int8", f"{weight}.scale"], [f"{weight}.restored"], axis=1)


def _constants() -> list[np.ndarray]:
    # uint8 around 128, which processors multiply with int8 faster than int8 itself.
    """Return the values of `_CONSTANTS`: float32, uint8 and int64, each a number or (1,)."""
    return [
        np.array(1 / _LEVELS, np.float32),
        np.array(128, np.uint8),
        np.array([-1]),
        np.array(1e-12, np.float32),
        np.array([1]),
        np.array(0.17, np.float32),
    ]
