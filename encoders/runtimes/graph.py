"""The ONNX graph of a model, written from its weights without torch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from corpora.errors import InputError
from encoders.architectures.registry import ARCHITECTURES
from encoders.ops.onnx import OnnxOps
from encoders.runtimes.quantized import quantized

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    import onnx

    from encoders.models.card import ModelCard
    from encoders.models.formats import Precision
    from encoders.models.model import Weights

GRAPH_VERSION = 4
"""Increase this number when graphs change, so that cached files of older versions are not used."""


_SMALL = 1024
"""Bytes of a constant that stays in the graph, where shapes are inferred from it."""


def output_name(number: int) -> str:
    """Return the name of a head's output in a graph, by the head's place."""
    return f"vector_{number}"


def build_graph(weights: Weights, card: ModelCard, heads: Sequence[str]) -> onnx.ModelProto:
    """Write the graph: token ids and attention mask in, one vector per text and head out.

    Inputs `input_ids` and `attention_mask` are int64 of shape (batch, length), padded on the right; outputs `vector_0`,
    `vector_1`, ... are float32 of shape (batch, dimension), pooled and scaled as the card says.

    Args:
        weights: Arrays by name, from `encoders.models.model.read_checked`.
        card: Of the model.
        heads: Whose vectors the graph gives, in this order.

    Returns:
        The model, checked by the `onnx` library.

    Raises:
        InputError: If weights have another shape than the card says.
    """
    nodes, arrays = _parts(weights, card, heads)
    model = _model(nodes, _stored(arrays, None), card, heads)
    _check(card, model)
    return model


def write_graph(
    weights: Weights, card: ModelCard, heads: Sequence[str], path: Path, precision: Precision = "fp32"
) -> None:
    """Write the graph, and its weights into `.data` beside it, which sessions map; errors as of `build_graph`."""
    import onnx

    nodes, arrays = _parts(weights, card, heads)
    if precision == "int8":
        nodes, arrays = quantized(nodes, arrays)
    onnx.save(_model(nodes, _stored(arrays, path.with_name(f"{path.name}.data")), card, heads), str(path))
    _check(card, str(path))


def _parts(weights: Weights, card: ModelCard, heads: Sequence[str]) -> tuple[list[onnx.NodeProto], Weights]:
    """Return the nodes and the constants of the graph."""
    ops = OnnxOps(weights, card.network.epsilon)
    try:
        vectors = ARCHITECTURES[card.architecture](ops, card.network, "input_ids", "attention_mask", heads)
    except (ArithmeticError, IndexError, TypeError, ValueError) as error:
        raise _misfit(card, error) from error
    for number, vector in enumerate(vectors):
        ops.output(vector, output_name(number))
    return ops.nodes, ops.arrays


def _model(
    nodes: Sequence[onnx.NodeProto], constants: Sequence[onnx.TensorProto], card: ModelCard, heads: Sequence[str]
) -> onnx.ModelProto:
    from onnx import TensorProto, helper

    shape = ["batch", "length"]
    names = [output_name(number) for number in range(len(heads))]
    graph = helper.make_graph(
        nodes,
        "encoder",
        [helper.make_tensor_value_info(name, TensorProto.INT64, shape) for name in ("input_ids", "attention_mask")],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", card.dimension]) for name in names],
        constants,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)


def _stored(arrays: Mapping[str, np.ndarray], beside: Path | None) -> list[onnx.TensorProto]:
    """Return constants in the graph's form. Large ones may be in another file; then the graph has their position.

    An array with several names is in the file once.
    """
    import numpy as np
    from onnx import TensorProto, helper, numpy_helper

    if beside is None:
        return [numpy_helper.from_array(array, name) for name, array in arrays.items()]
    tensors = []
    offsets: dict[int, int] = {}
    with beside.open("wb") as file:
        for name, array in arrays.items():
            if array.nbytes < _SMALL:
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


def _check(card: ModelCard, model: onnx.ModelProto | str) -> None:
    import onnx

    try:
        onnx.checker.check_model(model, full_check=True)  # infers every shape, so weights of another one show
    except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError) as error:
        raise _misfit(card, error) from error


def _misfit(card: ModelCard, error: Exception) -> InputError:
    reason = str(error).strip().splitlines()[-1]
    return InputError(f"The weights of {card.name} don't fit its config.json ({reason}); fetch the model again.")
