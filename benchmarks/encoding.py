"""Encoding SciFact's abstracts at 256 tokens: our runtimes against sentence-transformers on torch, same cores, one run.

Needs SES_TEST_DATA, and the extras train and openvino with sentence-transformers for the contenders they bring.
Run: python -m benchmarks.encoding [PAPERS]
"""

from __future__ import annotations

import functools
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from benchmarks.common import data_dir, interleaved
from corpora.paper import Accepted
from corpora.registry import get_corpus
from encoders.batching import batches
from encoders.encoder import Encoder, load_encoder
from encoders.registry import DEFAULT_MODEL, find_model

ROUNDS = 5


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 256
    model = find_model(DEFAULT_MODEL)
    records = get_corpus("beir").read(data_dir() / "eval" / "scifact", {})
    papers = [record.paper for record in records if isinstance(record, Accepted)]
    # Evenly over the corpus, so that lengths are the corpus's own.
    texts = [model.card.text(paper.title, paper.abstract) for paper in papers[:: max(len(papers) // count, 1)]][:count]
    vectors = {}
    with tempfile.TemporaryDirectory() as cache:
        ours = [("onnx", "fp32"), ("onnx", "int8")]
        if find_spec("openvino") and find_spec("nncf"):
            ours += [("openvino", "fp32"), ("openvino", "int8")]
        contenders = {}
        for runtime, precision in ours:
            encoder = load_encoder(DEFAULT_MODEL, cache_dir=Path(cache), runtime=runtime, precision=precision)
            contenders[f"ses {runtime} {precision}"] = lambda encoder=encoder: encoder.encode(texts)
            if (runtime, precision) == ("onnx", "int8"):
                for size in (4, 16, 32):
                    contenders[f"ses onnx int8, batches of {size}"] = functools.partial(_run, encoder, texts, size)
        if find_spec("sentence_transformers"):
            from sentence_transformers import SentenceTransformer

            peer = SentenceTransformer(str(model.folder), device="cpu")
            for size in (8, 32):
                contenders[f"sentence-transformers, batches of {size}"] = lambda size=size: peer.encode(
                    texts, batch_size=size, show_progress_bar=False
                )
        for name, work in contenders.items():
            vectors[name] = work()
        taken = interleaved(contenders, ROUNDS)
    peers = [name for name in taken if name.startswith("sentence")]
    base = min(peers or ["ses onnx fp32"], key=taken.__getitem__)
    print(f"{len(texts)} abstracts of SciFact, at most {model.card.max_tokens} tokens, median of {ROUNDS} rounds")
    print(f"ratios to: {base}")
    for name, value in taken.items():
        cosine = (np.asarray(vectors[name]) * vectors["ses onnx fp32"]).sum(axis=1)
        rate = f"{len(texts) / value:6.1f} papers/s  {taken[base] / value:5.2f}x"
        print(f"{name:40} {rate}  cosine to fp32: mean {cosine.mean():.4f}, min {cosine.min():.4f}")


def _run(encoder: Encoder, texts: list[str], size: int) -> np.ndarray:
    vectors = np.empty((len(texts), encoder.card.dimension), np.float32)
    for batch in batches([encoding.ids for encoding in encoder.tokenizer.encode_batch_fast(texts)], size):
        vectors[batch.rows] = encoder.session(batch.ids, batch.mask)
    return vectors


if __name__ == "__main__":
    main()
