"""int8 products against the same in numpy: a scale for each token and for each output, and nothing else."""

from __future__ import annotations

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from encoders.quantized import quantized

DRAW = np.random.default_rng(0)
WEIGHT = DRAW.standard_normal((32, 24)).astype(np.float32)
STATES = DRAW.standard_normal((3, 5, 32)).astype(np.float32)


def product(weight, states):
    """Two products of the same states by one weight, in int8, by onnxruntime; they are added up."""
    shape = ["texts", "tokens", 32]
    nodes, arrays = quantized(
        [
            helper.make_node("MatMul", ["x", "w"], ["a"]),
            helper.make_node("MatMul", ["x", "w"], ["b"]),
            helper.make_node("Add", ["a", "b"], ["y"]),
        ],
        {"w": weight},
    )
    graph = helper.make_graph(
        nodes,
        "products",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["texts", "tokens", 24])],
        [numpy_helper.from_array(array, name) for name, array in arrays.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)
    onnx.checker.check_model(model, full_check=True)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, {"x": states})[0] / 2


def by_hand(weight, states):
    rows, columns = np.abs(states).max(axis=-1, keepdims=True) / 127, np.abs(weight).max(axis=0) / 127
    return np.rint(states / rows) @ np.rint(weight / columns) * rows * columns


@pytest.mark.parametrize("scale", [1e-4, 1.0, 1e4])
def test_products_are_those_of_the_formula(scale):
    expected = by_hand(WEIGHT, scale * STATES)
    np.testing.assert_allclose(product(WEIGHT, scale * STATES), expected, rtol=0, atol=1e-2 * np.abs(expected).max())
    assert np.abs(expected - scale * STATES @ WEIGHT).max() < 0.03 * np.abs(expected).max()


def test_a_large_channel_or_token_costs_the_others_nothing():
    weight, states = WEIGHT.copy(), STATES.copy()
    weight[:, 3], states[1, 2] = 1e4 * weight[:, 3], 1e4 * states[1, 2]
    others = np.delete(product(weight, states), 3, axis=2)
    for text, token in ((0, 0), (1, 1), (2, 4)):
        alone = np.delete(product(WEIGHT, STATES[text : text + 1, token : token + 1]), 3, axis=2)
        np.testing.assert_array_equal(others[text, token], alone[0, 0])


def test_a_token_of_zeros_stays_zeros():
    assert not product(WEIGHT, np.zeros((1, 2, 32), np.float32)).any()
