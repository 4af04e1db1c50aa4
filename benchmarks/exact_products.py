"""What int8 costs where products of bytes saturate: CPU time as this processor runs it, and as one without VNNI would.

The same abstracts are encoded in turn, in one thread. On a processor without VNNI, both are the same. Needs
SES_TEST_DATA and the extra openvino. Run: python -m benchmarks.exact_products [PAPERS]
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from pathlib import Path
from unittest import mock

from benchmarks.encoding import MODEL, ROUNDS, abstracts
from encoders.encoder import Encoder, load_encoder
from encoders.registry import find_model
from encoders.runtimes.hardware import processor, products_saturate

KINDS = (("onnx", "fp32"), ("onnx", "int8"), ("openvino", "fp32"), ("openvino", "int8"))


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 32
    texts, _ = abstracts(find_model(MODEL), count)
    encoders: dict[str, Encoder] = {}
    with tempfile.TemporaryDirectory() as cache:
        for runtime, precision in KINDS:
            for exact in (False, True) if precision == "int8" else (False,):
                name = f"{runtime} {precision}" + (" as without VNNI" if exact else "")
                with mock.patch(f"encoders.runtimes.{runtime}.products_saturate", lambda exact=exact: exact):
                    encoders[name] = load_encoder(
                        MODEL, cache_dir=Path(cache), runtime=runtime, precision=precision, threads=1
                    )
                    encoders[name].encode(texts[:1])  # loads the session
        taken: dict[str, list[float]] = {name: [] for name in encoders}
        vectors = {}
        for _ in range(ROUNDS):
            for name, encoder in encoders.items():
                begun = time.process_time()
                vectors[name] = encoder.encode(texts)
                taken[name].append(time.process_time() - begun)
    print(f"{processor().name}: {', '.join(processor().instruction_sets)}; products saturate: {products_saturate()}")
    print(f"{len(texts)} abstracts of SciFact, CPU seconds, median of {ROUNDS} rounds; cosine to onnx fp32")
    for name, seconds in taken.items():
        cosines = (vectors[name] * vectors["onnx fp32"]).sum(axis=1)
        ratio = statistics.median(seconds) / statistics.median(taken[f"{name.split()[0]} fp32"])
        print(
            f"  {name:30} {statistics.median(seconds):6.2f}  {ratio:.2f} of fp32  "
            f"mean {cosines.mean():.4f}, least {cosines.min():.4f}"
        )


if __name__ == "__main__":
    main()
