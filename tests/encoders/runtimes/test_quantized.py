"""int8 products against the same in numpy: a scale for each token and for each output, and nothing else."""

from __future__ import annotations

import math
from typing import get_args

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from encoders.runtimes import onnx as onnx_runtime
from encoders.runtimes import openvino as openvino_runtime
from encoders.runtimes.hardware import TRIAL
from encoders.runtimes.onnx import open_session
from encoders.runtimes.openvino import open_model
from encoders.runtimes.quantized import GraphReader, quantized

DRAW = np.random.default_rng(0)
WEIGHT = DRAW.standard_normal((32, 24)).astype(np.float32)
STATES = DRAW.standard_normal((3, 5, 32)).astype(np.float32)


@pytest.fixture(params=["onnx", pytest.param("openvino", marks=pytest.mark.openvino)])
def run(request, tmp_path):
    """Runs nodes in int8 by a runtime, as it runs a model: constants by name and x to y."""

    def run(nodes, arrays, states):
        nodes, arrays = quantized(nodes, arrays, "onnxruntime" if request.param == "onnx" else "openvino")
        shape = ["texts", "tokens", "numbers"]
        graph = helper.make_graph(
            nodes,
            "parts",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, [*shape[:2], states.shape[-1]])],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)],
            [numpy_helper.from_array(array, name) for name, array in arrays.items()],
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)
        onnx.checker.check_model(model, full_check=True)
        content = model.SerializeToString()
        if request.param == "onnx":
            return open_session(content).run(None, {"x": states})[0]
        (tmp_path / "model.onnx").write_bytes(content)
        _, compiled = open_model(tmp_path / "model.onnx", 1)
        return compiled({"x": states})[compiled.outputs[0]]

    return run


@pytest.fixture
def product(run):
    """Two products of the same states by one weight; they are added up."""
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["a"]),
        helper.make_node("MatMul", ["x", "w"], ["b"]),
        helper.make_node("Add", ["a", "b"], ["y"]),
    ]
    return lambda weight, states: run(nodes, {"w": weight}, states) / 2


def by_hand(weight, states):
    rows, columns = np.abs(states).max(axis=-1, keepdims=True) / 127, np.abs(weight).max(axis=0) / 127
    return np.rint(states / rows) @ np.rint(weight / columns) * rows * columns


@pytest.fixture(params=[False, True], ids=["as it is", "without VNNI"])
def processor(request, monkeypatch):
    """This processor, and this one treated as one whose products saturate."""
    if request.param:
        for runtime in (onnx_runtime, openvino_runtime):
            monkeypatch.setattr(runtime, "products_saturate", lambda: True)


@pytest.mark.usefixtures("processor")
@pytest.mark.parametrize("scale", [1e-4, 1.0, 1e4])
def test_products_are_those_of_the_formula(scale, product):
    expected = by_hand(WEIGHT, scale * STATES)
    np.testing.assert_allclose(product(WEIGHT, scale * STATES), expected, rtol=0, atol=2e-6 * np.abs(expected).max())
    assert np.abs(expected - scale * STATES @ WEIGHT).max() < 0.03 * np.abs(expected).max()


def test_the_largest_sums_are_not_cut(product):
    weight, states = np.ones((64, 8), np.float32), np.ones((1, 3, 64), np.float32)
    np.testing.assert_allclose(product(weight, states), np.full((1, 3, 8), 64.0), rtol=1e-5)


def test_the_trial_for_saturation_is_the_product_that_it_says():
    a, b, y = (
        helper.make_tensor_value_info(name, kind, None)
        for name, kind in (("a", TensorProto.UINT8), ("b", TensorProto.INT8), ("y", TensorProto.INT32))
    )
    graph = helper.make_graph([helper.make_node("MatMulInteger", ["a", "b"], ["y"])], "", [a, b], [y])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)
    assert model.SerializeToString() == TRIAL


def test_a_softmax_is_that_of_the_formula(run):
    logits = 30 * STATES
    powers = np.exp(logits - logits.max(axis=-1, keepdims=True), dtype=np.float64)
    expected = powers / powers.sum(axis=-1, keepdims=True)
    found = run([helper.make_node("Softmax", ["x"], ["y"], axis=-1)], {}, logits)
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_a_large_channel_or_token_costs_the_others_nothing(product):
    weight, states = WEIGHT.copy(), STATES.copy()
    weight[:, 3], states[1, 2] = 1e4 * weight[:, 3], 1e4 * states[1, 2]
    others = np.delete(product(weight, states), 3, axis=2)
    for text, token in ((0, 0), (1, 1), (2, 4)):
        alone = np.delete(product(WEIGHT, STATES[text : text + 1, token : token + 1]), 3, axis=2)
        np.testing.assert_allclose(others[text, token], alone[0, 0], rtol=0, atol=2e-6 * np.abs(alone).max())


def test_a_token_of_zeros_stays_zeros(product):
    assert not product(WEIGHT, np.zeros((1, 2, 32), np.float32)).any()


@pytest.mark.parametrize("states", [0.05 * STATES, STATES, 30 * STATES, -np.abs(STATES)])
def test_a_product_of_what_a_gelu_returns_rounds_each_token_by_its_largest_value(states, run):
    nodes = [helper.make_node("Gelu", ["x"], ["a"]), helper.make_node("MatMul", ["a", "w"], ["y"])]
    activated = states * np.vectorize(lambda x: (1 + math.erf(x / math.sqrt(2))) / 2)(states)
    exact = activated @ WEIGHT
    # Half a step of 127 for each of 32 numbers; a GELU of small states is rounded as if its largest were .17.
    step = np.maximum(np.abs(activated).max(axis=-1, keepdims=True), 0.17) / 127
    bound = (
        step / 2 * np.abs(WEIGHT).sum(axis=0) + np.abs(activated).sum(-1, keepdims=True) * np.abs(WEIGHT).max() / 127
    )
    assert (np.abs(run(nodes, {"w": WEIGHT}, states) - exact) <= bound).all()


def test_onnxruntime_adds_up_a_softmax_in_one_order_and_openvino_reads_it_whole():
    softmax = helper.make_node("Softmax", ["x"], ["y"], axis=-1)
    kinds = {reader: [node.op_type for node in quantized([softmax], {}, reader)[0]] for reader in get_args(GraphReader)}
    assert "Softmax" not in kinds["onnxruntime"]
    assert kinds["openvino"] == ["Softmax"]
