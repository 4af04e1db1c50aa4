"""Each operator, as a graph and in torch, against its formula in numpy."""

from __future__ import annotations

import math

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from encoders.ops.onnx import OnnxOps
from encoders.ops.torch import TorchOps
from encoders.runtimes.onnx import open_session

DRAW = np.random.default_rng(0)
TEXTS, TOKENS, WIDTH, HEADS = 3, 5, 8, 2
EPSILON = 0.01


def normal(*shape):
    return DRAW.standard_normal(shape).astype(np.float32)


WEIGHTS = {
    **{f"{name}.weight": normal(WIDTH, WIDTH) for name in "qkv"},
    **{f"{name}.bias": normal(WIDTH) for name in "qkv"},
    "wide.weight": normal(3 * WIDTH, WIDTH),
    "wide.bias": normal(3 * WIDTH),
    "norm.weight": normal(WIDTH),
    "norm.bias": normal(WIDTH),
    "table": normal(11, WIDTH),
    "bias": normal(11),
    "distances": normal(4, HEADS),
    "gate": normal(WIDTH),
}
STATES, OTHERS = normal(TEXTS, TOKENS, WIDTH), normal(TEXTS, TOKENS, WIDTH)
SCORES = [normal(TEXTS, TOKENS, 1) for _ in range(3)]
IDS = np.array([[1, 10, 0, 3, 3], [2, 2, 0, 0, 0], [4, 5, 6, 7, 0]])
MASK = np.array([[1, 1, 1, 1, 1], [1, 1, 0, 0, 0], [1, 1, 1, 1, 0]])
PAIRS = np.array([[1, 1, 2, 2, 2], [1, 2, 0, 0, 0]])
LEADING = normal(9, 1, WIDTH // HEADS // 2)


def run_graph(compute, *given):
    ops = OnnxOps(WEIGHTS, EPSILON)
    names = [f"given{number}" for number in range(len(given))]
    found = compute(ops, *names)
    several = isinstance(found, list | tuple)
    for number, value in enumerate(found if several else [found]):
        ops.output(value, f"found{number}")
    outputs = [f"found{number}" for number in range(len(found) if several else 1)]
    kinds = [helper.np_dtype_to_tensor_dtype(array.dtype) for array in given]
    graph = helper.make_graph(
        ops.nodes,
        "operator",
        [
            helper.make_tensor_value_info(name, kind, [f"{name}_{axis}" for axis in range(array.ndim)])
            for name, kind, array in zip(names, kinds, given, strict=True)
        ],
        [onnx.ValueInfoProto(name=name) for name in outputs],
        [numpy_helper.from_array(array, name) for name, array in ops.arrays.items()],
    )
    graph = onnx.shape_inference.infer_shapes(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)
    )
    values = open_session(graph.SerializeToString()).run(None, dict(zip(names, given, strict=True)))
    return values if several else values[0]


def run_torch(compute, *given):
    import torch

    ops = TorchOps({name: torch.tensor(array) for name, array in WEIGHTS.items()}, EPSILON)
    found = compute(ops, *map(torch.tensor, given))
    return [one.numpy() for one in found] if isinstance(found, list | tuple) else found.numpy()


@pytest.fixture(params=["onnx", pytest.param("torch", marks=pytest.mark.torch)])
def run(request):
    return {"onnx": run_graph, "torch": run_torch}[request.param]


def linear(states, name):
    return states @ WEIGHTS[f"{name}.weight"].T + WEIGHTS[f"{name}.bias"]


def softmax(logits):
    powers = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def normed(states):
    centred = states - states.mean(axis=-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + EPSILON) * WEIGHTS["norm.weight"]


def attention(query, key, value, bias=0.0):
    def apart(states):
        return states.reshape(*states.shape[:2], HEADS, -1).transpose(0, 2, 1, 3)

    mixed = softmax(apart(query) @ apart(key).transpose(0, 1, 3, 2) + bias) @ apart(value)
    return mixed.transpose(0, 2, 1, 3).reshape(*mixed.transpose(0, 2, 1, 3).shape[:2], -1)


def turned(states, angles):
    apart = states.reshape(TEXTS, TOKENS, HEADS, -1)
    numbers = apart[..., : apart.shape[-1] // 2] + 1j * apart[..., apart.shape[-1] // 2 :]
    spun = numbers * np.exp(1j * angles)
    return np.concatenate([spun.real, spun.imag], axis=-1).reshape(TEXTS, TOKENS, -1)


def erf(values):
    return np.vectorize(math.erf)(values)


APART = np.arange(TOKENS) - np.arange(TOKENS)[:, None]
PADDING = np.where(MASK, 0, -1e9)[:, None, None]
ROOT = (WIDTH // HEADS) ** -0.5
QKV = ("q", "k", "v")
CASES = {
    "constant": (lambda o: o.constant([[1, 2], [3, 4]]), (), np.array([[1, 2], [3, 4]])),
    "positions": (lambda o, ids: o.positions(ids, 4), (IDS,), np.array([[4, 5, 6, 7, 8]])),
    "embed": (lambda o, ids: o.embed(ids, "table", 11), (IDS,), WEIGHTS["table"][IDS]),
    "leading": (lambda o, ids: o.leading(ids, LEADING), (IDS,), LEADING[:TOKENS]),
    "expand": (lambda o, one, ids: o.expand(one, ids), (STATES[:1], IDS), np.repeat(STATES[:1], TEXTS, axis=0)),
    "linear": (lambda o, x: o.linear(x, "wide"), (STATES,), linear(STATES, "wide")),
    "product": (lambda o, x: o.product(x, "wide"), (STATES,), STATES @ WEIGHTS["wide.weight"].T),
    "norm": (lambda o, x: o.norm(x, "norm"), (STATES,), normed(STATES) + WEIGHTS["norm.bias"]),
    "norm without bias": (lambda o, x: o.norm_without_bias(x, "norm"), (STATES,), normed(STATES)),
    "dropout": (lambda o, x: o.scale(o.dropout(x), 1.0), (STATES,), STATES),
    "gelu": (lambda o, x: o.activate(x, "gelu"), (STATES,), STATES * (1 + erf(STATES / 2**0.5)) / 2),
    "relu": (lambda o, x: o.activate(x, "relu"), (STATES,), np.where(STATES > 0, STATES, 0)),
    "silu": (lambda o, x: o.activate(x, "silu"), (STATES,), STATES / (1 + np.exp(-STATES))),
    "tanh": (lambda o, x: o.activate(x, "tanh"), (STATES,), np.tanh(STATES)),
    "leaky": (lambda o, x: o.activate(x, "leaky_relu"), (STATES,), np.where(STATES > 0, STATES, 0.01 * STATES)),
    "sigmoid": (lambda o, x: o.activate(x, "sigmoid"), (STATES,), 1 / (1 + np.exp(-STATES))),
    "gated unit": (lambda o, x: o.gated_unit(x, "relu"), (STATES,), np.maximum(STATES[..., :4], 0) * STATES[..., 4:]),
    "add": (lambda o, x, y: o.add(x, y, x), (STATES, OTHERS), 2 * STATES + OTHERS),
    "scale": (lambda o, x: o.scale(x, 0.3), (STATES,), np.float32(0.3) * STATES),
    "times": (lambda o, x, y: o.times(x, y), (STATES, SCORES[0]), STATES * SCORES[0]),
    "present": (lambda o, mask: o.present(mask), (PAIRS,), np.array([[1, 1, 1, 1, 1], [1, 1, 0, 0, 0]])),
    "second": (lambda o, mask: o.second(mask), (PAIRS,), np.array([[0, 0, 1, 1, 1], [0, 1, 0, 0, 0]])),
    "states": (lambda o, x: o.states(x), (STATES[:, 0],), STATES[:, :1]),
    "weight": (lambda o, x: o.times(x, o.weight("gate")), (STATES,), STATES * WEIGHTS["gate"]),
    "mask bias": (lambda o, mask: o.mask_bias(mask), (MASK,), PADDING),
    "window": (lambda o, mask: o.window_bias(mask, 2), (MASK,), np.where(abs(APART) > 2, -1e9, 0)[None, None]),
    "distance bias": (
        lambda o, ids: o.distance_bias(ids, "distances", [0, 0, 1, 2, 3, 1, 0, 2, 3]),
        (IDS,),
        WEIGHTS["distances"][np.array([0, 0, 1, 2, 3, 1, 0, 2, 3])[APART + 4]].transpose(2, 0, 1)[None],
    ),
    "project": (
        lambda o, x: list(o.project(x, x, QKV, HEADS)),
        (STATES,),
        [linear(STATES, "q") * ROOT, linear(STATES, "k"), linear(STATES, "v")],
    ),
    "project others": (
        lambda o, x, y: list(o.project(x, y, QKV, HEADS)),
        (STATES, OTHERS),
        [linear(STATES, "q") * ROOT, linear(OTHERS, "k"), linear(OTHERS, "v")],
    ),
    "attend": (
        lambda o, x, y, mask: o.attend(x, y, o.scale(y, 2.0), HEADS, o.mask_bias(mask)),
        (STATES, OTHERS, MASK),
        attention(STATES, OTHERS, 2 * OTHERS, PADDING),
    ),
    "attend to all": (
        lambda o, x, y: o.attend(x, y, y, HEADS, None, 3),
        (STATES[:, :2], OTHERS),
        attention(STATES[:, :2], OTHERS, OTHERS),
    ),
    "attend to one text": (
        lambda o, x, y: o.attend(x, y, y, HEADS, None),
        (STATES, OTHERS[:1]),
        attention(STATES, OTHERS[:1].repeat(TEXTS, axis=0), OTHERS[:1].repeat(TEXTS, axis=0)),
    ),
    "attend to what is before": (
        lambda o, x, y, mask: o.attend(x, y, y, HEADS, o.mask_bias(mask), 2),
        (STATES, OTHERS, MASK[:, 2:]),
        attention(STATES, OTHERS, OTHERS, np.pad(PADDING[..., 2:], [(0, 0)] * 3 + [(2, 0)])),
    ),
    "rotary attention": (
        lambda o, x, mask, cosines, sines: o.rotary_attention(x, "wide", HEADS, o.mask_bias(mask), (cosines, sines)),
        (STATES, MASK, np.cos(LEADING[:TOKENS]), np.sin(LEADING[:TOKENS])),
        attention(
            turned(STATES @ WEIGHTS["wide.weight"][:8].T, LEADING[:TOKENS]) * ROOT,
            turned(STATES @ WEIGHTS["wide.weight"][8:16].T, LEADING[:TOKENS]),
            STATES @ WEIGHTS["wide.weight"][16:].T,
            PADDING,
        ),
    ),
    "dot": (lambda o, x, y: o.dot(x, y), (STATES, OTHERS), (STATES * OTHERS).sum(axis=2, keepdims=True)),
    "blend": (
        lambda o, x, y, *scores: o.blend(scores, [x, y, o.scale(x, 3.0)]),
        (STATES, OTHERS, *SCORES),
        sum(
            share[..., None] * value
            for share, value in zip(
                np.moveaxis(softmax(np.concatenate(SCORES, axis=-1)), -1, 0), (STATES, OTHERS, 3 * STATES), strict=True
            )
        ),
    ),
    "blend one": (lambda o, x, score: o.blend([score], [x]), (STATES, SCORES[0]), STATES),
    "choose": (
        lambda o, scores, x, y: o.choose(scores, [x, y, o.scale(x, 3.0)]),
        (np.concatenate(SCORES, axis=-1), STATES, OTHERS),
        np.stack([STATES, OTHERS, 3 * STATES])[
            np.concatenate(SCORES, axis=-1).argmax(axis=-1), np.arange(TEXTS)[:, None], np.arange(TOKENS)
        ],
    ),
    "layer": (lambda o, x, y: o.layer(o.add, x, y), (STATES, OTHERS), STATES + OTHERS),
    "concat": (lambda o, x, y: o.concat_tokens([x, y]), (STATES, OTHERS), np.concatenate([STATES, OTHERS], axis=1)),
    "stack": (lambda o, x, y: o.stack([x, y]), (STATES, OTHERS), np.concatenate([STATES, OTHERS])),
    "stack one": (lambda o, x: o.scale(o.stack([x]), 2.0), (STATES,), 2 * STATES),
    "split": (lambda o, x: o.split(x, 2), (STATES[[0, 1, 2, 0]],), [STATES[:2], STATES[[2, 0]]]),
    "split one": (lambda o, x: [o.scale(part, 2.0) for part in o.split(x, 1)], (STATES,), [2 * STATES]),
    "tokens": (lambda o, x: o.tokens(x, 1, 3), (STATES,), STATES[:, 1:3]),
    "tokens to the last": (lambda o, x: o.tokens(x, 2, None), (STATES,), STATES[:, 2:]),
    "token": (lambda o, x: o.token(x, 3), (STATES,), STATES[:, 3:4]),
    "vector": (lambda o, x: o.vector(x), (STATES[:, :1],), STATES[:, 0]),
    "mean": (
        lambda o, x, mask: o.mean(x, mask),
        (STATES, MASK),
        np.stack([text[kept == 1].mean(axis=0, keepdims=True) for text, kept in zip(STATES, MASK, strict=True)]),
    ),
    "largest": (
        lambda o, x, mask: o.largest(x, mask),
        (STATES, MASK),
        np.stack([text[kept == 1].max(axis=0, keepdims=True) for text, kept in zip(STATES, MASK, strict=True)]),
    ),
    "matches": (lambda o, x: o.matches(x, "table", "bias"), (STATES,), STATES @ WEIGHTS["table"].T + WEIGHTS["bias"]),
    "log1p": (lambda o, x: o.log1p(o.activate(x, "relu")), (STATES,), np.log1p(np.maximum(STATES, 0))),
    "l2": (
        lambda o, x: o.l2_normalize(x),
        (np.array([[3.0, 4], [3e-13, -4e-13], [0, 0]], np.float32),),
        np.array([[0.6, 0.8], [0.3, -0.4], [0, 0]]),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_it_is_the_formula(name, run):
    compute, given, expected = CASES[name]
    found = run(compute, *given)
    pairs = zip(found, expected, strict=True) if isinstance(expected, list) else [(found, expected)]
    for array, wanted in pairs:
        assert array.shape == wanted.shape
        assert array.dtype == (np.int64 if wanted.dtype.kind == "i" and array.dtype.kind == "i" else np.float32)
        np.testing.assert_allclose(array, wanted, rtol=1e-5, atol=2e-6)


@pytest.mark.parametrize(
    ("ops", "name"), [(run_graph, "onnx"), pytest.param(run_torch, "torch", marks=pytest.mark.torch)]
)
def test_tables_of_another_size_and_weights_that_are_not_there(ops, name):
    with pytest.raises(ValueError, match="11 rows in table, not 12"):
        ops(lambda o, ids: o.embed(ids, "table", 12), IDS)
    seen = []
    ops(lambda o, x: seen.extend([o.has("table"), o.has("tables")]) or o.add(x, x), STATES)
    assert seen == [True, False]


@pytest.mark.parametrize(
    "compute", [lambda o, x: o.project(x, x, QKV, 3), lambda o, x: o.rotary_attention(x, "wide", 3, x, (x, x))]
)
def test_heads_that_do_not_share_the_columns_are_refused(compute):
    with pytest.raises(ValueError, match="8 values for 3 heads"):
        run_graph(compute, STATES)
