"""The ONNX graph of a model, written from its weights without torch. It is imported where a graph is built."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from corpora.errors import InputError
from encoders.architectures.registry import ARCHITECTURES
from encoders.models.card import ModelCard
from encoders.models.formats import Precision
from encoders.models.model import Weights
from encoders.ops.onnx import OnnxOps
from encoders.runtimes.quantized import GraphReader, quantized

_INPUTS = ("input_ids", "attention_mask")

_SMALL = 1024
"""Bytes of a constant that stays in the graph, where shapes are inferred from it, as whole numbers of any size do."""


def write_graph(
    weights: Weights,
    card: ModelCard,
    heads: Sequence[str],
    path: Path,
    precision: Precision = "fp32",
    reader: GraphReader = "onnxruntime",
) -> None:
    """Write the graph into a file, and its weights into one beside it (`.data`), which sessions map.

    Inputs `input_ids` and `attention_mask` are int64 of shape (batch, length), padded on the right; outputs `vector_0`,
    `vector_1`, ... are float32 of shape (batch, dimension), in the order of the heads, pooled and scaled as the card
    says; without pooling, (batch, length, dimension). The weights are arrays by name, from
    `encoders.models.model.read_checked`. With the precision `int8`, matrix products are quantized, in the form for the
    graph's reader; every other precision has the same graph. Raises `InputError` if weights have another shape than the
    card says.
    """
    ops = OnnxOps(weights, card.network.epsilon)
    names = [f"vector_{number}" for number in range(len(heads))]
    try:
        vectors = ARCHITECTURES[card.architecture](ops, card.network, *_INPUTS, heads)
    except (ArithmeticError, IndexError, TypeError, ValueError) as error:
        raise _misfit(card, error) from error
    for name, vector in zip(names, vectors, strict=True):
        ops.output(vector, name)
    shape = ["batch", "length", card.dimension] if card.network.pooling == "tokens" else ["batch", card.dimension]
    nodes, arrays = quantized(ops.nodes, ops.arrays, reader) if precision == "int8" else (ops.nodes, ops.arrays)
    graph = helper.make_graph(
        nodes,
        "encoder",
        [helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "length"]) for name in _INPUTS],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in names],
        _stored(arrays, path.with_name(f"{path.name}.data")),
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)
    onnx.save(model, str(path))
    try:
        onnx.checker.check_model(str(path))
        # Infers every shape, also those that are computed, so weights of another one show.
        onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True, data_prop=True)
    except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError) as error:
        raise _misfit(card, error) from error


def _stored(arrays: Mapping[str, np.ndarray], beside: Path) -> list[onnx.TensorProto]:
    """Return constants in the graph's form: large ones as positions in a file beside it, which is written here."""
    tensors = []
    offsets: dict[int, int] = {}  # an array with several names is in the file once
    with beside.open("wb") as file:
        for name, array in arrays.items():
            if array.nbytes < _SMALL or array.dtype == np.int64:
                tensors.append(numpy_helper.from_array(array, name))
                continue
            kind = helper.np_dtype_to_tensor_dtype(array.dtype)
            tensor = TensorProto(name=name, data_type=kind, dims=array.shape, data_location=TensorProto.EXTERNAL)
            if id(array) not in offsets:
                offsets[id(array)] = file.tell()
                np.ascontiguousarray(array).tofile(file)
            place = {"location": beside.name, "offset": offsets[id(array)], "length": array.nbytes}
            for key, value in place.items():
                tensor.external_data.add(key=key, value=str(value))
            tensors.append(tensor)
    return tensors


def _misfit(card: ModelCard, error: Exception) -> InputError:
    reason = str(error).strip().splitlines()[-1]
    return InputError(f"The weights of {card.name} don't fit its config.json ({reason}); fetch the model again.")
