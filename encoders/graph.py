"""The ONNX graph of a model, written from its weights without torch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from corpora.errors import InputError
from encoders.architectures.registry import ARCHITECTURES
from encoders.ops.onnx import OnnxOps

if TYPE_CHECKING:
    import onnx

    from encoders.card import ModelCard
    from encoders.model import Weights

GRAPH_VERSION = 3
"""Raised when graphs change, so that cached files of older versions are not used."""


def output_name(number: int) -> str:
    """Return the name of a head's output in a graph, by the head's place."""
    return f"vector_{number}"


def build_graph(weights: Weights, card: ModelCard, heads: Sequence[str]) -> onnx.ModelProto:
    """Write the graph: token ids and attention mask in, one vector a text out for each head.

    Inputs `input_ids` and `attention_mask` are int64 of shape (batch, length), padded on the right; outputs `vector_0`,
    `vector_1`, ... are float32 of shape (batch, dimension), pooled and scaled as the card says.

    Args:
        weights: Arrays by name, from `encoders.model.read_checked`.
        card: Of the model.
        heads: Whose vectors the graph gives, in this order.

    Returns:
        The model, checked by the `onnx` library.

    Raises:
        InputError: If weights have another shape than the card says.
    """
    import onnx
    from onnx import TensorProto, helper

    ops = OnnxOps(weights, card.network.epsilon)
    try:
        vectors = ARCHITECTURES[card.architecture](ops, card.network, "input_ids", "attention_mask", heads)
    except (IndexError, TypeError, ValueError) as error:
        raise _misfit(card, error) from error
    names = [output_name(number) for number in range(len(heads))]
    for vector, name in zip(vectors, names, strict=True):
        ops.output(vector, name)
    shape = ["batch", "length"]
    graph = helper.make_graph(
        ops.nodes,
        "encoder",
        [helper.make_tensor_value_info(name, TensorProto.INT64, shape) for name in ("input_ids", "attention_mask")],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", card.dimension]) for name in names],
        list(ops.initializers.values()),
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)
    try:
        onnx.checker.check_model(model, full_check=True)  # infers every shape, so weights of another one show
    except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError) as error:
        raise _misfit(card, error) from error
    return model


def _misfit(card: ModelCard, error: Exception) -> InputError:
    reason = str(error).strip().splitlines()[-1]
    return InputError(f"The weights of {card.name} don't fit its config.json ({reason}); fetch the model again.")
