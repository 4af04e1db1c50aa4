"""The operators as nodes of an ONNX graph, written with the `onnx` library alone.

Plain operators of opset 20, so that every runtime reads the graph; onnxruntime fuses them itself when it loads it.
The module is imported where a graph is built, and nowhere else.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from onnx import helper

from encoders.ops.base import MASKED, Activation, not_in_operators

_LAST = 2**63 - 1  # what a slice takes for the end

_ACTIVATIONS: Mapping[Activation, str] = {
    "gelu": "Gelu",
    "relu": "Relu",
    "tanh": "Tanh",
    "leaky_relu": "LeakyRelu",
    "sigmoid": "Sigmoid",
}


class OnnxOps:
    """Each operator adds its nodes and constants to the graph, and returns its output's name."""

    def __init__(self, weights: Mapping[str, np.ndarray], epsilon: float) -> None:
        self._given = weights
        self._epsilon = epsilon
        self.nodes: list[Any] = []
        self.arrays: dict[str, Any] = {}

    def output(self, value: str, name: str) -> None:
        """Give a value the name under which the graph returns it."""
        self.nodes.append(helper.make_node("Identity", [value], [name]))

    def constant(self, values: Sequence[Any]) -> str:
        array = np.array(values, dtype=np.int64)
        return self._store(f"ints_{array.shape}_{array.ravel().tolist()}".replace(" ", ""), array)

    def has(self, name: str) -> bool:
        return name in self._given

    def elsewhere(self, runtime: str) -> str:
        raise not_in_operators(runtime)

    def positions(self, ids: str, first: int) -> str:
        count = self._op("Squeeze", self._length(ids), self._ints(0))
        end = self._op("Add", count, self._scalar(first))
        return self._op("Unsqueeze", self._op("Range", self._scalar(first), end, self._scalar(1)), self._ints(0))

    def embed(self, ids: str, name: str, rows: int | None = None) -> str:
        table = self._given[name]
        if rows not in (None, len(table)):
            raise ValueError(f"{len(table)} rows in {name}, not {rows}")
        return self._op("Gather", self._store(name, table), ids)

    def leading(self, ids: str, table: np.ndarray) -> str:
        stored = self._store(f"table_{hashlib.sha256(table.tobytes()).hexdigest()[:16]}", table)
        return self._op("Slice", stored, self._ints(0), self._length(ids), self._ints(0))

    def expand(self, hidden: str, like: str) -> str:
        texts = self._op("Slice", self._op("Shape", like), self._ints(0), self._ints(1))
        return self._op("Expand", hidden, self._op("Concat", texts, self._ints(1, 1), axis=0))

    def linear(self, hidden: str, name: str) -> str:
        return self._linear(hidden, name)

    def product(self, hidden: str, name: str) -> str:
        return self._op("MatMul", hidden, self._store(f"{name}.weight", self._given[f"{name}.weight"].T.copy()))

    def norm(self, hidden: str, name: str) -> str:
        scale, offset = (self._store(f"{name}.{part}", self._given[f"{name}.{part}"]) for part in ("weight", "bias"))
        return self._op("LayerNormalization", hidden, scale, offset, axis=-1, epsilon=self._epsilon)

    def norm_without_bias(self, hidden: str, name: str) -> str:
        scale = self._store(f"{name}.weight", self._given[f"{name}.weight"])
        return self._op("LayerNormalization", hidden, scale, axis=-1, epsilon=self._epsilon)

    def dropout(self, hidden: str) -> str:
        return hidden

    def activate(self, hidden: str, kind: Activation) -> str:
        if kind == "silu":
            return self._op("Mul", hidden, self._op("Sigmoid", hidden))
        return self._op(_ACTIVATIONS[kind], hidden)

    def gated_unit(self, hidden: str, kind: Activation) -> str:
        activated, gate = self._parts(hidden, 2)
        return self._op("Mul", self.activate(activated, kind), gate)

    def add(self, first: str, *others: str) -> str:
        for other in others:
            first = self._op("Add", first, other)
        return first

    def scale(self, hidden: str, by: float) -> str:
        return self._op("Mul", hidden, self._float(by))

    def times(self, first: str, second: str) -> str:
        return self._op("Mul", first, second)

    def weight(self, name: str) -> str:
        return self._store(name, self._given[name])

    def present(self, mask: str) -> str:
        return self._op("Min", mask, self._scalar(1))

    def second(self, mask: str) -> str:
        return self._op("Max", self._op("Sub", mask, self._scalar(1)), self._scalar(0))

    def mask_bias(self, mask: str) -> str:
        kept = self._op("Cast", self._op("Unsqueeze", mask, self._ints(1, 2)), to=1)
        return self._op("Mul", self._op("Sub", self._float(1.0), kept), self._float(MASKED))

    def window_bias(self, mask: str, reach: int) -> str:
        far = self._op("Greater", self._op("Abs", self._distances(mask)), self._scalar(reach))
        bias = self._op("Mul", self._op("Cast", far, to=1), self._float(MASKED))
        return self._op("Unsqueeze", bias, self._ints(0, 1))

    def distance_bias(self, ids: str, name: str, rows: Sequence[int]) -> str:
        place = self._op("Add", self._distances(ids), self._scalar(len(rows) // 2))
        bias = self.embed(self._op("Gather", self.constant(rows), place), name)
        return self._op("Unsqueeze", self._op("Transpose", bias, perm=[2, 0, 1]), self._ints(0))

    def project(self, queries: str, keys: str, names: tuple[str, str, str], heads: int) -> tuple[str, str, str]:
        query_name, key_name, value_name = names
        width = len(self._given[f"{query_name}.weight"])
        if width % heads:
            raise ValueError(f"{width} values for {heads} heads")
        # The weights of the queries take the 1/sqrt(d) of the attention with them. One product for all three would take
        # longer, as its parts would be copied.
        query = self._linear(queries, query_name, (width // heads) ** -0.5)
        return query, self._linear(keys, key_name), self._linear(keys, value_name)

    def attend(self, query: str, key: str, value: str, heads: int, bias: str | None, before: int = 0) -> str:
        # In a reshape, 0 keeps an axis and -1 takes what is left.
        shape = self._ints(0, 0, heads, -1)
        query = self._op("Transpose", self._op("Reshape", query, shape), perm=[0, 2, 1, 3])
        key = self._op("Transpose", self._op("Reshape", key, shape), perm=[0, 2, 3, 1])
        value = self._op("Transpose", self._op("Reshape", value, shape), perm=[0, 2, 1, 3])
        logits = self._op("MatMul", query, key)
        if bias is not None:
            if before:
                bias = self._op("Pad", bias, self._ints(0, 0, 0, before, 0, 0, 0, 0), mode="constant")
            logits = self._op("Add", logits, bias)
        mixed = self._op("MatMul", self._op("Softmax", logits, axis=-1), value)
        return self._op("Reshape", self._op("Transpose", mixed, perm=[0, 2, 1, 3]), self._ints(0, 0, -1))

    def rotary_attention(self, hidden: str, name: str, heads: int, bias: str, rotation: tuple[str, str]) -> str:
        queries, *others = np.split(self._given[f"{name}.weight"], 3)
        if len(queries) % heads:
            raise ValueError(f"{len(queries)} values for {heads} heads")
        scaled = np.concatenate([queries * np.float32((len(queries) // heads) ** -0.5), *others])
        joined = self._op("MatMul", hidden, self._store(f"{name}.weight", np.ascontiguousarray(scaled.T)))
        query, key, value = self._parts(joined, 3)
        return self.attend(
            self._turned(query, heads, *rotation), self._turned(key, heads, *rotation), value, heads, bias
        )

    def dot(self, first: str, second: str) -> str:
        return self._op("ReduceSum", self._op("Mul", first, second), self._ints(-1), keepdims=1)

    def blend(self, scores: Sequence[str], values: Sequence[str]) -> str:
        joined = self._op("Concat", *scores, axis=-1) if len(scores) > 1 else scores[0]
        return self._weighted(self._op("Softmax", joined, axis=-1), values)

    def choose(self, scores: str, values: Sequence[str]) -> str:
        best = self._op("ArgMax", scores, axis=-1, keepdims=0)
        depth = self._store(f"depth_{len(values)}", np.array([len(values)], dtype=np.int64))
        onehot = self._op("OneHot", best, depth, self._store("off_on", np.array([0, 1], dtype=np.float32)), axis=-1)
        return self._weighted(onehot, values)

    def layer(self, compute: Callable[..., str], *states: str) -> str:
        return compute(*states)

    def concat_tokens(self, parts: Sequence[str]) -> str:
        return self._op("Concat", *parts, axis=1)

    def stack(self, parts: Sequence[str]) -> str:
        return self._op("Concat", *parts, axis=0) if len(parts) > 1 else parts[0]

    def split(self, stacked: str, parts: int) -> list[str]:
        return self._ops("Split", stacked, outputs=parts, axis=0, num_outputs=parts) if parts > 1 else [stacked]

    def tokens(self, hidden: str, start: int, end: int | None) -> str:
        return self._op("Slice", hidden, self._ints(start), self._ints(_LAST if end is None else end), self._ints(1))

    def token(self, hidden: str, index: int) -> str:
        return self.tokens(hidden, index, index + 1)

    def vector(self, hidden: str) -> str:
        return self._op("Squeeze", hidden, self._ints(1))

    def states(self, vectors: str) -> str:
        return self._op("Unsqueeze", vectors, self._ints(1))

    def mean(self, hidden: str, mask: str) -> str:
        kept = self._op("Cast", self._op("Unsqueeze", mask, self._ints(2)), to=1)
        total = self._op("ReduceSum", self._op("Mul", hidden, kept), self._ints(1), keepdims=1)
        return self._op("Div", total, self._op("ReduceSum", kept, self._ints(1), keepdims=1))

    def largest(self, hidden: str, mask: str) -> str:
        kept = self._op("Cast", self._op("Unsqueeze", mask, self._ints(2)), to=9)
        return self._op("ReduceMax", self._op("Where", kept, hidden, self._float(MASKED)), self._ints(1), keepdims=1)

    def matches(self, hidden: str, table: str, bias: str) -> str:
        rows = self._store(f"{table}.transposed", np.ascontiguousarray(self._given[table].T))
        return self._op("Add", self._op("MatMul", hidden, rows), self.weight(bias))

    def log1p(self, hidden: str) -> str:
        return self._op("Log", self._op("Add", hidden, self._float(1.0)))

    def l2_normalize(self, vectors: str) -> str:
        length = self._op("ReduceL2", vectors, self._ints(-1), keepdims=1)
        return self._op("Div", vectors, self._op("Max", length, self._float(1e-12)))

    def _linear(self, hidden: str, name: str, factor: float = 1.0) -> str:
        """Return the outputs of a linear layer times a factor."""
        weight, bias = (self._given[f"{name}.{part}"] * np.float32(factor) for part in ("weight", "bias"))
        product = self._op("MatMul", hidden, self._store(f"{name}.weight", np.ascontiguousarray(weight.T)))
        return self._op("Add", product, self._store(f"{name}.bias", bias))

    def _parts(self, joined: str, count: int) -> list[str]:
        return self._ops("Split", joined, outputs=count, axis=-1, num_outputs=count)

    def _length(self, ids: str) -> str:
        """Return the number of tokens, int64 (1,)."""
        return self._op("Slice", self._op("Shape", ids), self._ints(1), self._ints(2))

    def _distances(self, ids: str) -> str:
        """Return how far each token stands before each other one, int64 (tokens, tokens)."""
        places = self.positions(ids, 0)
        return self._op("Sub", places, self._op("Transpose", places, perm=[1, 0]))

    def _turned(self, states: str, heads: int, cosines: str, sines: str) -> str:
        """Return the states with each head's halves turned, (texts, tokens, width)."""
        first, second = self._parts(self._op("Reshape", states, self._ints(0, 0, heads, -1)), 2)
        turned = (
            self._op("Sub", self._op("Mul", first, cosines), self._op("Mul", second, sines)),
            self._op("Add", self._op("Mul", second, cosines), self._op("Mul", first, sines)),
        )
        return self._op("Reshape", self._op("Concat", *turned, axis=-1), self._ints(0, 0, -1))

    def _weighted(self, weights: str, values: Sequence[str]) -> str:
        shares = self._parts(weights, len(values)) if len(values) > 1 else [weights]
        return self.add(*(self._op("Mul", share, value) for share, value in zip(shares, values, strict=True)))

    def _op(self, kind: str, *inputs: str, **attributes: Any) -> str:
        return self._ops(kind, *inputs, outputs=1, **attributes)[0]

    def _ops(self, kind: str, *inputs: str, outputs: int, **attributes: Any) -> list[str]:
        names = [f"{kind.lower()}_{len(self.nodes)}_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(kind, list(inputs), names, name=names[0], **attributes))
        return names

    def _store(self, name: str, array: Any) -> str:
        self.arrays.setdefault(name, array)
        return name

    def _ints(self, *values: int) -> str:
        return self.constant(values)

    def _scalar(self, value: int) -> str:
        return self._store(f"int_{value}", np.array(value, dtype=np.int64))

    def _float(self, value: float) -> str:
        return self._store(f"float_{value}", np.array(value, dtype=np.float32))
