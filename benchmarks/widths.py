"""The speed of networks by their size, for `ses plan`: tokens that one thread encodes in a second of CPU.

The networks are all-MiniLM-L6-v2 with its layers repeated, or its matrices: what the numbers are changes no time. It
prints points for `ses/planning/measured.toml`. Run: python -m benchmarks.widths [TEXTS]
"""

from __future__ import annotations

import json
import re
import statistics
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from benchmarks.common import texts_of_length
from encoders.encoder import load_encoder
from encoders.models.model import Model
from encoders.registry import find_model
from encoders.runtimes.hardware import processor

MODEL, TOKENS, ROUNDS = "all-MiniLM-L6-v2", 200, 3
NETWORKS = ((6, 384), (12, 384), (6, 768), (12, 768))


def main() -> None:
    texts = texts_of_length(int(sys.argv[1]) if len(sys.argv) > 1 else 16, TOKENS)
    plain = find_model(MODEL)
    with tempfile.TemporaryDirectory() as cache:
        for precision in ("int8", "fp32"):
            for layers, width in NETWORKS:
                model = _sized(plain, layers, width)
                encoder = load_encoder(model, cache_dir=Path(cache), runtime="onnx", precision=precision, threads=1)
                encoder.encode(texts[:1])  # loads the session
                taken = []
                for _ in range(ROUNDS):
                    begun = time.process_time()
                    encoder.encode(texts)
                    taken.append(time.process_time() - begun)
                print("\n[[encoder]]")
                print(f"date = {datetime.now(UTC).date()}")
                for name, value in {
                    "command": f"python -m benchmarks.widths {len(texts)}",
                    "machine": f"a core of {processor().name}, with {', '.join(processor().instruction_sets)}",
                    "precision": precision,
                    "layers": layers,
                    "width": width,
                    "tokens": round(len(texts) * TOKENS / statistics.median(taken)),
                }.items():
                    print(f"{name} = {json.dumps(value)}", flush=True)


def _sized(model: Model, layers: int, width: int) -> Model:
    """Return a model with more layers, or wider ones."""
    network = model.card.network
    times = width // network.width

    def read() -> Mapping[str, np.ndarray]:
        held = model.read()
        wide = {name: _widened(array, network.width, times) for name, array in held.items()}
        more = {
            re.sub(r"layer\.(\d+)\.", lambda found, at=at: f"layer.{int(found[1]) + at}.", name): array
            for at in range(network.layers, layers, network.layers)
            for name, array in wide.items()
            if ".layer." in name
        }
        return {**wide, **more}

    own = replace(network, layers=layers, width=width)
    card = replace(model.card, network=own, dimension=width, weights_sha256=f"{layers} layers of {width}")
    return replace(model, card=card, read=read)


def _widened(array: np.ndarray, width: int, times: int) -> np.ndarray:
    return np.tile(array, tuple(times if not size % width else 1 for size in array.shape))


if __name__ == "__main__":
    main()
