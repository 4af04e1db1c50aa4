"""The ONNX graph of a BERT-family encoder, written from its weights without torch.

Architecture: Devlin et al. 2019 (BERT, post-layer-norm); Liu et al. 2019 (RoBERTa: shifted positions). Plain operators
of opset 20 are used, since they quantize better than onnxruntime's fused ones and run as fast (benchmarks/encoding.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from corpora.errors import InputError
from encoders.card import first_position

if TYPE_CHECKING:
    import numpy as np
    import onnx

    from encoders.card import ModelCard

GRAPH_VERSION = 1
"""Raised when the graph changes, so that cached files of older versions are not used."""

MASKED = -1e9
"""Added to the attention logits of padding: its weight becomes exactly 0 in float32."""


@dataclass
class _Builder:
    """Collects nodes and weights; each method appends one operator and returns its output's name."""

    nodes: list[Any] = field(default_factory=list)
    weights: dict[str, Any] = field(default_factory=dict)

    def op(self, kind: str, *inputs: str, **attributes: Any) -> str:
        return self.ops(kind, *inputs, outputs=1, **attributes)[0]

    def ops(self, kind: str, *inputs: str, outputs: int, **attributes: Any) -> list[str]:
        from onnx import helper

        names = [f"{kind.lower()}_{len(self.nodes)}_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(kind, list(inputs), names, name=names[0], **attributes))
        return names

    def weight(self, name: str, array: Any) -> str:
        from onnx import numpy_helper

        self.weights.setdefault(name, numpy_helper.from_array(array, name))
        return name

    def ints(self, *values: int) -> str:
        import numpy as np

        return self.weight("ints_" + "_".join(map(str, values)), np.array(values, dtype=np.int64))

    def scalar(self, value: float) -> str:
        import numpy as np

        return self.weight(f"float_{value}", np.array(value, dtype=np.float32))


def build_graph(weights: Mapping[str, np.ndarray], config: Mapping[str, Any], card: ModelCard) -> onnx.ModelProto:
    """Write the graph: token ids and attention mask in, one vector a text out.

    Inputs `input_ids` and `attention_mask` are int64 of shape (batch, length), padded on the right; output `vector` is
    float32 of shape (batch, dimension), pooled and scaled as the card says.

    Args:
        weights: Arrays by name, from `read_weights`.
        config: The model's `config.json`.
        card: Gives pooling and normalization.

    Returns:
        The model, checked by the `onnx` library.

    Raises:
        InputError: If weights are missing or of another shape, or the configuration asks for what the graph can't do.
    """
    import onnx
    from onnx import TensorProto, helper

    if config.get("hidden_act") != "gelu" or config.get("position_embedding_type", "absolute") != "absolute":
        raise InputError(f"{card.name} is a BERT variant that ses can't run: it needs gelu and absolute positions.")
    build = _Builder()
    try:
        hidden = _embeddings(build, weights, config)
        bias = _attention_bias(build)
        for layer in range(int(config["num_hidden_layers"])):
            hidden = _layer(build, weights, config, f"encoder.layer.{layer}", hidden, bias)
    except KeyError as error:
        raise InputError(f"The weights of {card.name} lack {error}: the file doesn't fit its config.json.") from error
    except (IndexError, TypeError, ValueError) as error:
        raise _misfit(card, error) from error
    pooled = _pool(build, card, hidden)
    build.nodes.append(helper.make_node("Identity", [pooled], ["vector"]))
    shape = ["batch", "length"]
    graph = helper.make_graph(
        build.nodes,
        "encoder",
        [helper.make_tensor_value_info(name, TensorProto.INT64, shape) for name in ("input_ids", "attention_mask")],
        [helper.make_tensor_value_info("vector", TensorProto.FLOAT, ["batch", card.dimension])],
        list(build.weights.values()),
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)
    # The graph is as onnxruntime's quantizer wants it; without this mark it would advise to pre-process it.
    helper.set_model_props(model, {"onnx.quant.pre_process": "onnxruntime.quant"})
    try:
        onnx.checker.check_model(model, full_check=True)  # infers every shape, so weights of another one show
    except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError) as error:
        raise _misfit(card, error) from error
    return model


def _misfit(card: ModelCard, error: Exception) -> InputError:
    reason = str(error).strip().splitlines()[-1]
    return InputError(f"The weights of {card.name} don't fit its config.json ({reason}); fetch the model again.")


def _embeddings(build: _Builder, weights: Mapping[str, Any], config: Mapping[str, Any]) -> str:
    # Segment 0 is all that single texts use, so its row is added to every position once, here.
    positions = (
        weights["embeddings.position_embeddings.weight"] + weights["embeddings.token_type_embeddings.weight"][:1]
    )
    words = weights["embeddings.word_embeddings.weight"]
    # Too few rows would be found out only by a long text or a rare word.
    if (len(words), len(positions)) != (config["vocab_size"], config["max_position_embeddings"]):
        raise ValueError(f"{len(words)} words and {len(positions)} positions")
    positions = positions[first_position(config) :]
    tokens = build.op("Gather", build.weight("tokens", words), "input_ids")
    length = build.op("Slice", build.op("Shape", "input_ids"), build.ints(1), build.ints(2))
    first = build.op("Slice", build.weight("positions", positions), build.ints(0), length, build.ints(0))
    return _norm(build, weights, config, "embeddings.LayerNorm", build.op("Add", tokens, first))


def _attention_bias(build: _Builder) -> str:
    mask = build.op("Cast", build.op("Unsqueeze", "attention_mask", build.ints(1, 2)), to=1)
    return build.op("Mul", build.op("Sub", build.scalar(1.0), mask), build.scalar(MASKED))


def _layer(
    build: _Builder, weights: Mapping[str, Any], config: Mapping[str, Any], name: str, hidden: str, bias: str
) -> str:
    context = _attention(build, weights, config, f"{name}.attention.self", hidden, bias)
    attended = _linear(build, weights, f"{name}.attention.output.dense", context)
    hidden = _norm(build, weights, config, f"{name}.attention.output.LayerNorm", build.op("Add", attended, hidden))
    inner = build.op("Gelu", _linear(build, weights, f"{name}.intermediate.dense", hidden))
    outer = _linear(build, weights, f"{name}.output.dense", inner)
    return _norm(build, weights, config, f"{name}.output.LayerNorm", build.op("Add", outer, hidden))


def _attention(
    build: _Builder, weights: Mapping[str, Any], config: Mapping[str, Any], name: str, hidden: str, bias: str
) -> str:
    import numpy as np

    size, heads = int(config["hidden_size"]), int(config["num_attention_heads"])
    if size % heads:
        raise ValueError(f"{size} values for {heads} heads")
    # One product for query, key and value; the query takes the 1/sqrt(d) of the attention with it.
    scale = np.float32((size // heads) ** -0.5)
    parts = [(f"{name}.query", scale), (f"{name}.key", np.float32(1)), (f"{name}.value", np.float32(1))]
    weight = np.concatenate([weights[f"{part}.weight"] * factor for part, factor in parts]).T
    offset = np.concatenate([weights[f"{part}.bias"] * factor for part, factor in parts])
    product = build.op("MatMul", hidden, build.weight(f"{name}.weight", np.ascontiguousarray(weight)))
    product = build.op("Add", product, build.weight(f"{name}.bias", offset))
    query, key, value = build.ops("Split", product, outputs=3, axis=-1, num_outputs=3)
    shape = build.ints(0, 0, heads, size // heads)
    query = build.op("Transpose", build.op("Reshape", query, shape), perm=[0, 2, 1, 3])
    key = build.op("Transpose", build.op("Reshape", key, shape), perm=[0, 2, 3, 1])
    value = build.op("Transpose", build.op("Reshape", value, shape), perm=[0, 2, 1, 3])
    logits = build.op("Add", build.op("MatMul", query, key), bias)
    mixed = build.op("MatMul", build.op("Softmax", logits, axis=-1), value)
    return build.op("Reshape", build.op("Transpose", mixed, perm=[0, 2, 1, 3]), build.ints(0, 0, size))


def _linear(build: _Builder, weights: Mapping[str, Any], name: str, hidden: str) -> str:
    import numpy as np

    weight = build.weight(f"{name}.weight", np.ascontiguousarray(weights[f"{name}.weight"].T))
    return build.op("Add", build.op("MatMul", hidden, weight), build.weight(f"{name}.bias", weights[f"{name}.bias"]))


def _norm(build: _Builder, weights: Mapping[str, Any], config: Mapping[str, Any], name: str, hidden: str) -> str:
    scale = build.weight(f"{name}.weight", weights[f"{name}.weight"])
    offset = build.weight(f"{name}.bias", weights[f"{name}.bias"])
    epsilon = float(config.get("layer_norm_eps", 1e-12))
    return build.op("LayerNormalization", hidden, scale, offset, axis=-1, epsilon=epsilon)


def _pool(build: _Builder, card: ModelCard, hidden: str) -> str:
    import numpy as np

    if card.pooling == "mean":
        mask = build.op("Cast", build.op("Unsqueeze", "attention_mask", build.ints(2)), to=1)
        total = build.op("ReduceSum", build.op("Mul", hidden, mask), build.ints(1), keepdims=0)
        vector = build.op("Div", total, build.op("ReduceSum", mask, build.ints(1), keepdims=0))
    else:
        index = np.array(1 if card.pooling == "code" else 0, dtype=np.int64)
        vector = build.op("Gather", hidden, build.weight("pooled_token", index), axis=1)
    if card.normalize:
        length = build.op("ReduceL2", vector, build.ints(1), keepdims=1)
        vector = build.op("Div", vector, build.op("Max", length, build.scalar(1e-12)))
    return vector
