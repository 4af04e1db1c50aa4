"""How near encoding comes to the processor's products of matrices, and where the rest of the time goes.

Everything runs in one thread, in turn, and is timed by the CPU seconds of the process, so that other load of the
machine matters little. The limit of a text is the time of its products alone: those with weights at the fastest
measured rate of int8, those of attention at that of fp32. The rows "as without VNNI" run as ses does on such a
processor, by instructions that both kinds have.
Needs the extra openvino for its rows, and torch for the rates of oneDNN.
Run: python -m benchmarks.encoding_limit [TEXTS] [FILE.svg], the latter for the flame graph
"""

from __future__ import annotations

import gc
import json
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from html import escape
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from benchmarks.common import texts_of_length
from encoders.encoder import Encoder, load_encoder
from encoders.models.formats import Format
from encoders.registry import find_model
from encoders.runtimes.hardware import processor
from encoders.runtimes.onnx import open_session
from encoders.tokens.batching import CPU_TOKENS, batches

MODEL = "all-MiniLM-L6-v2"
TOKENS, QUERY_TOKENS = 200, 16
ROUNDS = 7
KINDS = (("onnx", "int8", False), ("onnx", "fp32", False), ("openvino", "int8", False), ("openvino", "bf16", False))
KINDS += (("openvino", "fp32", False), ("onnx", "int8", True), ("openvino", "int8", True))

WITHOUT = "as without VNNI"

Work = Callable[[], object]


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 16
    card = find_model(MODEL).card
    layers, width, heads = card.network.layers, card.dimension, card.network.attention_heads
    shapes = ((width, 3 * width), (width, width), (width, 4 * width), (4 * width, width))
    weights = 2.0 * layers * sum(inputs * outputs for inputs, outputs in shapes)
    attention = 4.0 * layers * TOKENS * width
    print(f"{processor().name}: {', '.join(processor().instruction_sets)}; one thread, CPU seconds, medians\n")
    rates = _rates(shapes, heads, width // heads)
    best = {kind: max(rate for (_, of), rate in rates.items() if of == kind) for kind in ("int8", WITHOUT, "fp32")}
    slow = max(best[WITHOUT], best["fp32"])
    limits = {"": weights / best["int8"] + attention / best["fp32"], WITHOUT: weights / slow + attention / best["fp32"]}
    _show_encoding(texts_of_length(count, TOKENS), limits)
    _show_parts(texts_of_length(count, TOKENS))
    _show_query()


def cpu_seconds(contenders: Mapping[Any, Work], rounds: int = ROUNDS) -> dict[Any, float]:
    """Run all contenders in turn, once without a clock, and return the median CPU seconds of each."""
    taken = defaultdict(list)
    for work in contenders.values():
        work()
    for _ in range(rounds):
        for name, work in contenders.items():
            begun = time.process_time()
            work()
            taken[name].append(time.process_time() - begun)
    return {name: statistics.median(values) for name, values in taken.items()}


def _rates(shapes: Sequence[tuple[int, int]], heads: int, depth: int) -> dict[tuple[str, str], float]:
    """Print and return operations per second of bare products, all of a layer together, by library and kind."""
    kinds = {("onnxruntime", "int8"): _onnx_int8, ("onnxruntime", "fp32"): _onnx_fp32}
    kinds |= {("onnxruntime", WITHOUT): _onnx_int8_without}
    if find_spec("torch"):
        kinds |= {("oneDNN (torch)", kind): partial(_torch, kind=kind) for kind in ("int8", "fp32", "bf16")}
    if find_spec("openvino"):
        kinds |= {("OpenVINO", "fp32"): _openvino_fp32}
    contenders = {(name, shape): make(*shape) for name, make in kinds.items() for shape in shapes}
    contenders[("onnxruntime", "fp32, attention's shapes"), (depth, TOKENS)] = _attention(heads, depth)
    taken = cpu_seconds(contenders)
    print(
        f"| bare products of {CPU_TOKENS} rows | {' | '.join(f'{a} x {b}' for a, b in shapes)} | a layer's together |"
    )
    print(f"|{' --- |' * (len(shapes) + 2)}")
    rates = {}
    for name in kinds:
        each = [2.0 * CPU_TOKENS * a * b for a, b in shapes]
        rates[name] = sum(each) / sum(taken[name, shape] for shape in shapes)
        cells = [f"{work / taken[name, shape] / 1e9:.0f}" for work, shape in zip(each, shapes, strict=True)]
        print(f"| {' '.join(name)}, G operations/s | {' | '.join(cells)} | {rates[name] / 1e9:.0f} |")
    own = (
        2.0 * 2 * heads * TOKENS * TOKENS * depth / taken[("onnxruntime", "fp32, attention's shapes"), (depth, TOKENS)]
    )
    print(f"\nonnxruntime's products of attention in fp32: {own / 1e9:.0f} G operations/s\n")
    return rates


def _onnx_int8(inputs: int, outputs: int) -> Work:
    draw = np.random.default_rng(0)
    rows = draw.integers(0, 256, (CPU_TOKENS, inputs)).astype(np.uint8)
    weight = draw.integers(-127, 128, (inputs, outputs)).astype(np.int8)
    nodes = [helper.make_node("MatMulInteger", ["x", "w", "zero"], ["y"])]
    return _onnx(nodes, {"x": rows}, {"w": weight, "zero": np.array(128, np.uint8)}, TensorProto.INT32)


def _onnx_int8_without(inputs: int, outputs: int) -> Work:
    with mock.patch("encoders.runtimes.onnx.products_saturate", return_value=True):
        return _onnx_int8(inputs, outputs)


def _onnx_fp32(inputs: int, outputs: int) -> Work:
    rows, weight = np.ones((CPU_TOKENS, inputs), np.float32), np.ones((inputs, outputs), np.float32)
    return _onnx([helper.make_node("MatMul", ["x", "w"], ["y"])], {"x": rows}, {"w": weight})


def _attention(heads: int, depth: int) -> Work:
    """Return the two products of a layer's attention, for one text."""
    given = {
        "q": np.ones((1, heads, TOKENS, depth), np.float32),
        "k": np.ones((1, heads, depth, TOKENS), np.float32),
        "v": np.ones((1, heads, TOKENS, depth), np.float32),
    }
    nodes = [helper.make_node("MatMul", ["q", "k"], ["p"]), helper.make_node("MatMul", ["p", "v"], ["y"])]
    return _onnx(nodes, given, {})


def _onnx(
    nodes: Sequence[onnx.NodeProto],
    given: Mapping[str, np.ndarray],
    constants: Mapping[str, np.ndarray],
    made: int = TensorProto.FLOAT,
) -> Work:
    graph = helper.make_graph(
        nodes,
        "products",
        [
            helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
            for name, array in given.items()
        ],
        [helper.make_tensor_value_info("y", made, None)],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)
    return partial(open_session(model.SerializeToString()).run, None, dict(given))


def _openvino_fp32(inputs: int, outputs: int) -> Work:
    import openvino
    from openvino import opset13

    rows = np.ones((CPU_TOKENS, inputs), np.float32)
    given = opset13.parameter(rows.shape, np.float32)
    product = opset13.matmul(given, opset13.constant(np.ones((inputs, outputs), np.float32)), False, False)  # noqa: FBT003 - OpenVINO's own
    settings = {"INFERENCE_NUM_THREADS": 1, "INFERENCE_PRECISION_HINT": "f32"}
    request = openvino.compile_model(openvino.Model([product], [given]), "CPU", settings).create_infer_request()
    return partial(request.infer, [rows])


def _torch(inputs: int, outputs: int, kind: str) -> Work:
    import torch

    torch.set_num_threads(1)
    rows, weight = torch.ones(CPU_TOKENS, inputs), torch.ones(inputs, outputs)
    if kind == "int8":
        return partial(torch._int_mm, rows.to(torch.int8), weight.to(torch.int8))
    of = torch.bfloat16 if kind == "bf16" else torch.float32
    return partial(torch.matmul, rows.to(of), weight.to(of))


def _encoders(cache: Path) -> dict[str, Encoder]:
    encoders = {}
    for runtime, precision, without in KINDS:
        if not find_spec({"onnx": "onnxruntime"}.get(runtime, runtime)):
            continue
        name = f"{runtime} {precision}" + (f", {WITHOUT}" if without else "")
        with mock.patch(f"encoders.runtimes.{runtime}.products_saturate", lambda without=without: without):
            encoders[name] = load_encoder(MODEL, cache_dir=cache, runtime=runtime, precision=precision, threads=1)
            encoders[name].encode(["a text"])  # loads the session
    return encoders


def _show_encoding(texts: list[str], limits: Mapping[str, float]) -> None:
    """Show tokens per second, and the share of the limit, in seconds for a token, as it is and as without VNNI."""
    with tempfile.TemporaryDirectory() as cache:
        encoders = _encoders(Path(cache))
        work: dict[str, Work] = {name: partial(one.encode, texts) for name, one in encoders.items()}
        work["onnx int8, 8 texts a batch"] = partial(_in_eights, encoders["onnx int8"], texts)
        taken = cpu_seconds(work)
    tokens = len(texts) * TOKENS
    rates = f"{1 / limits['']:,.0f} tokens/s by products alone, {1 / limits[WITHOUT]:,.0f} {WITHOUT}"
    print(f"Texts of {TOKENS} tokens: {rates}\n")
    print("| runtime | tokens/s | of the limit | to onnx fp32 |\n| --- | --- | --- | --- |")
    for name, value in taken.items():
        share = limits[WITHOUT if name.endswith(WITHOUT) else ""] * tokens / value
        print(f"| {name} | {tokens / value:,.0f} | {share:.0%} | {taken['onnx fp32'] / value:.2f} |")


def _in_eights(encoder: Encoder, texts: list[str]) -> None:
    with mock.patch("encoders.encoder.batches", partial(batches, max_texts=8)):
        encoder.encode(texts)


def _show_query() -> None:
    """Show what encoding one query costs over its bare session."""
    (text,) = texts_of_length(1, QUERY_TOKENS)
    with tempfile.TemporaryDirectory() as cache:
        encoder = load_encoder(MODEL, cache_dir=Path(cache), threads=1)
        session = encoder.sessions((encoder.card.head(Format.QRY),))
        (batch,) = batches([encoder.tokenizer.encode(text).ids])
        work: dict[str, Work] = {
            "whole": partial(encoder.encode, [text], Format.QRY),
            "bare": partial(session, batch.ids, batch.mask),
        }
        taken = cpu_seconds(work, 300)
    print(f"\nA query of {QUERY_TOKENS} tokens: {taken['whole'] / taken['bare']:.2f} times its bare session")


def _show_parts(texts: list[str]) -> None:
    """Show the share of each part of encoding in onnx int8, and write the flame graph if a file is named."""
    import onnxruntime

    own = onnxruntime.SessionOptions
    with tempfile.TemporaryDirectory() as cache:

        def profiled() -> Any:
            options = own()
            options.enable_profiling, options.profile_file_prefix = True, str(Path(cache) / "profile")
            return options

        encoder = load_encoder(MODEL, cache_dir=Path(cache), threads=1)
        seconds = cpu_seconds(
            {
                "whole": partial(encoder.encode, texts),
                "tokenizer": partial(encoder.tokenizer.encode_batch_fast, texts),
                "network": partial(_network, encoder, texts),
            }
        )
        with mock.patch("onnxruntime.SessionOptions", profiled):
            encoder = load_encoder(MODEL, cache_dir=Path(cache), threads=1)
            for _ in range(ROUNDS):
                encoder.encode(texts)
        del encoder
        gc.collect()  # the end of a session writes its profile
        file = max(Path(cache).glob("profile*"), key=lambda path: path.stat().st_size)  # that of a trial is small
        events = json.loads(file.read_text(encoding="utf-8"))
    taken = defaultdict(list)
    for event in events:
        if event.get("cat") == "Node" and event["name"].endswith("_kernel_time"):
            shapes = [next(iter(shape.values())) for shape in event["args"]["input_type_shape"]]
            kind = event["args"]["op_name"]
            taken[_part(kind, shapes), kind, str(shapes[:2])].append(event["dur"])
    # A median times how often: what other processes interrupt counts as what is like it.
    nodes = {key: statistics.median(values) * len(values) for key, values in taken.items()}
    parts: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for (part, kind, _), value in nodes.items():
        parts[part][kind] += value / sum(nodes.values()) * seconds["network"]
    parts["tokenizer"]["tokenizer"] = seconds["tokenizer"]
    rest = seconds["whole"] - seconds["network"] - seconds["tokenizer"]
    parts["batches and other Python"]["Python"] = max(rest, 0.0)
    total = sum(sum(kinds.values()) for kinds in parts.values())
    print("\n| part of onnx int8 | share | operators |\n| --- | --- | --- |")
    for part, kinds in sorted(parts.items(), key=lambda item: -sum(item[1].values())):
        names = ", ".join(sorted(kinds, key=lambda kind: -kinds[kind])[:4])
        print(f"| {part} | {sum(kinds.values()) / total:.1%} | {names} |")
    if len(sys.argv) > 2:
        Path(sys.argv[2]).write_text(flame_graph(parts), encoding="utf-8")


def _network(encoder: Encoder, texts: list[str]) -> None:
    """Run the bare sessions of some texts, whose lengths are known."""
    session = encoder.sessions((encoder.card.head(Format.PRX),))
    for batch in batches([encoder.tokenizer.encode(texts[0]).ids] * len(texts)):
        session(batch.ids, batch.mask)


def _part(kind: str, shapes: Sequence[Sequence[int]]) -> str:
    rank = max(map(len, shapes), default=0)
    if kind.startswith("MatMulInteger"):
        return "products in int8"
    if kind in ("MatMul", "FusedMatMul", "Attention"):
        return "softmax" if shapes[-1][-1:] == [1] else "products of attention"
    if kind in ("Transpose", "Split"):
        return "moving heads"
    if rank == 4 and kind in ("Add", "ReduceMax", "Sub", "Exp", "Div"):
        return "softmax"
    if kind in ("Gelu", "LayerNormalization"):
        return kind
    if kind in ("Abs", "ReduceMax", "Max", "Div", "QuantizeLinear", "Expand", "Shape", "Reshape", "Concat"):
        return "rounding states to int8"
    return {"Mul": "scaling products back", "Add": "biases and sums"}.get(kind, "other operators")


_WIDTH, _HEIGHT = 1000, 22
_COLOURS = ("#e4572e", "#f3a712", "#a8c686", "#669bbc", "#c8a2c8", "#d4a373", "#8ecae6", "#b5b5b5")


def flame_graph(parts: Mapping[str, Mapping[str, float]]) -> str:
    """Return an SVG: encoding above its parts above their operators, each as wide as its share of the time."""
    total = sum(sum(kinds.values()) for kinds in parts.values())
    boxes = [("encode", 0.0, total, 0, "#dddddd")]
    place = 0.0
    ordered = sorted(parts.items(), key=lambda item: -sum(item[1].values()))
    for number, (part, kinds) in enumerate(ordered):
        colour = _COLOURS[number % len(_COLOURS)]
        boxes.append((part, place, sum(kinds.values()), 1, colour))
        for kind, taken in sorted(kinds.items(), key=lambda item: -item[1]):
            boxes.append((kind, place, taken, 2, colour))
            place += taken
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {3 * _HEIGHT}" font-family="sans-serif" '
        'font-size="11">'
    ]
    for name, left, taken, row, colour in boxes:
        x, width = _WIDTH * left / total, _WIDTH * taken / total
        label = f"{name} {taken / total:.0%}"
        shown = escape(label[: int(width / 6.2)]) if width > 25 else ""
        top, drawn = row * _HEIGHT, max(width - 0.5, 0.3)
        lines.append(
            f'<g><title>{escape(label)}</title><rect x="{x:.1f}" y="{top}" width="{drawn:.1f}" '
            f'height="{_HEIGHT - 1}" fill="{colour}"/><text x="{x + 3:.1f}" y="{top + 15}">{shown}</text></g>'
        )
    return "\n".join([*lines, "</svg>", ""])


if __name__ == "__main__":
    main()
