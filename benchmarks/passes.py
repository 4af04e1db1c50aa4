"""The cost of several formats of a text, and of adapters: one pass against the pass of one format, on the same texts.

The networks are all-MiniLM-L6-v2 with codes and adapters of random values, since only their cost is measured.
Run: python -m benchmarks.passes [TEXTS]
"""

from __future__ import annotations

import functools
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks.common import interleaved, texts_of_length
from encoders.encoder import load_encoder
from encoders.models.formats import Format
from encoders.models.model import Model
from encoders.registry import find_model

MODEL = "all-MiniLM-L6-v2"
ROUNDS = 7
TOKENS = 200
REDUCTION = 16


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 64
    plain = find_model(MODEL)
    texts = texts_of_length(count, TOKENS)
    layers = plain.card.network.layers
    with tempfile.TemporaryDirectory() as cache:
        for runtime, precision in (("onnx", "int8"), ("onnx", "fp32"), ("openvino", "int8")):
            contenders = {}
            for name, model in {
                "plain": plain,
                "plain, first token": _pooled(plain, "cls"),
                "shared codes": _with_codes(plain),
                "adapters everywhere": _with_adapters(plain, 0),
                "adapters in the last third": _with_adapters(plain, layers - layers // 3),
                "adapters in the last third, first token": _with_adapters(_pooled(plain, "cls"), layers - layers // 3),
            }.items():
                encoder = load_encoder(model, cache_dir=Path(cache), runtime=runtime, precision=precision)
                wanted = [[Format.PRX]] if name.startswith("plain") else [[Format.PRX], list(Format)]
                for formats in wanted:
                    work = functools.partial(encoder.encode_formats, texts, formats)
                    work()
                    contenders[f"{name}, {len(formats)} format{'s' * (len(formats) > 1)}"] = work
            taken = interleaved(contenders, ROUNDS)
            print(f"{runtime} {precision}: {count} texts of {TOKENS} tokens, median of {ROUNDS} rounds")
            for name, seconds in taken.items():
                one = taken.get(name.replace("4 formats", "1 format"), seconds)
                like = "plain, first token" if name.startswith(("adapters", "shared")) and "token" in name else "plain"
                base = taken[f"{like}, 1 format"]
                print(f"  {name:55} {seconds / base:5.2f} x plain  {seconds / one:5.2f} x one format")


def _pooled(model: Model, pooling: str) -> Model:
    return replace(model, card=replace(model.card, network=replace(model.card.network, pooling=pooling)))


def _with_codes(model: Model) -> Model:
    network = model.card.network
    codes = {task_format.value: i for i, task_format in enumerate(Format)}
    card = replace(
        model.card,
        architecture="shared-codes",
        heads={task_format: task_format.value for task_format in Format},
        network=replace(network, pooling="code", options={"codes": codes}),
    )
    return replace(model, card=card)


def _with_adapters(model: Model, first: int) -> Model:
    network, draw = model.card.network, np.random.default_rng(0)
    narrow = network.width // REDUCTION
    added: dict[str, np.ndarray] = {}
    for layer in range(first, network.layers):
        for task_format in Format:
            name = f"encoder.layer.{layer}.output.adapters.{task_format}"
            for part, shape in {
                "adapter_down.0": (narrow, network.width),
                "adapter_up": (network.width, narrow),
            }.items():
                added[f"{name}.{part}.weight"] = draw.normal(0, 0.02, shape).astype(np.float32)
                added[f"{name}.{part}.bias"] = np.zeros(shape[0], np.float32)
    facts = {task_format.value: {"activation": "relu", "scaling": 1.0} for task_format in Format}
    card = replace(
        model.card,
        architecture="adapters",
        heads={task_format: task_format.value for task_format in Format},
        network=replace(network, shared_layers=first, options={"adapters": facts}),
        weights_sha256=f"adapters from layer {first}",
    )

    def read() -> Mapping[str, np.ndarray]:
        return {**model.read(), **added}

    return replace(model, card=card, read=read)


if __name__ == "__main__":
    main()
