"""Encoding SciFact's abstracts, cut at 200 tokens, and single queries: our runtimes, torch, sentence-transformers.

All are timed in one run on the same cores, in turn. Needs SES_TEST_DATA, and, for the other contenders, the extras
train and openvino with sentence-transformers.
Run: python -m benchmarks.encoding [PAPERS]
"""

from __future__ import annotations

import functools
import statistics
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from benchmarks.common import data_dir, interleaved, seconds
from corpora.paper import Accepted
from corpora.registry import get_corpus
from encoders.encoder import Encoder, load_encoder
from encoders.models.model import Model
from encoders.registry import find_model
from encoders.runtimes.hardware import has_device, processor
from encoders.runtimes.registry import RUNTIMES, is_installed
from encoders.tokens.batching import batches

MODEL = "all-MiniLM-L6-v2"
ROUNDS = 5
TOKENS = 200
QUERIES = 40
SIZES = (1, 4, 8, 16, 32)
PEER = "sentence-transformers"
BASE = "torch fp32"
FOREIGN = "transformers"  # runs only what no other runtime can


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 128
    model = find_model(MODEL)
    model = replace(model, card=replace(model.card, max_tokens=TOKENS))
    texts, titles = abstracts(model, count)
    with tempfile.TemporaryDirectory() as cache:
        encoders = {
            f"{runtime.name} {precision}": load_encoder(
                model, cache_dir=Path(cache), runtime=runtime.name, precision=precision
            )
            for runtime in RUNTIMES.values()
            if is_installed(runtime) and (runtime.device == "cpu" or has_device()) and runtime.name != FOREIGN
            for precision in runtime.precisions
        }
        work: dict[str, Callable[[list[str]], np.ndarray]] = {name: one.encode for name, one in encoders.items()}
        if find_spec("sentence_transformers"):
            work[PEER] = _peer(model)
        vectors = {name: encode(texts) for name, encode in work.items()}
        _show_bulk(work, texts, vectors)
        _show_sizes(encoders, texts)
        _show_single(work, titles)


def abstracts(model: Model, count: int) -> tuple[list[str], list[str]]:
    records = get_corpus("beir").read(data_dir() / "eval" / "scifact", {})
    papers = [record.paper for record in records if isinstance(record, Accepted)]
    # Evenly over the corpus, so that the sample has the corpus's lengths.
    papers = papers[:: max(len(papers) // count, 1)][:count]
    return [model.card.text(paper.title, paper.abstract) for paper in papers], [paper.title for paper in papers]


def _peer(model: Model, size: int = 32) -> Callable[[list[str]], np.ndarray]:
    from sentence_transformers import SentenceTransformer

    peer = SentenceTransformer(str(model.folder), device="cpu")
    peer.max_seq_length = TOKENS
    return functools.partial(peer.encode, batch_size=size, show_progress_bar=False)


def _show_bulk(
    work: Mapping[str, Callable[[list[str]], np.ndarray]], texts: list[str], vectors: Mapping[str, np.ndarray]
) -> None:
    taken = interleaved({name: functools.partial(encode, texts) for name, encode in work.items()}, ROUNDS)
    peers = [name for name in (BASE, PEER) if name in taken]
    here = processor()
    print(f"{here.name}, {here.cores} cores: {', '.join(here.instruction_sets)}")
    print(f"{len(texts)} abstracts of SciFact at {TOKENS} tokens, median of {ROUNDS} rounds, to {' and '.join(peers)}")
    for name, value in taken.items():
        cosine = (vectors[name] * vectors["onnx fp32"]).sum(axis=1)
        rate = f"{len(texts) / value:6.1f} papers/s " + " ".join(f"{taken[peer] / value:5.2f}x" for peer in peers)
        print(f"  {name:24} {rate}  cosine to onnx fp32: mean {cosine.mean():.4f}, min {cosine.min():.4f}")


def _show_sizes(encoders: Mapping[str, Encoder], texts: list[str]) -> None:
    """Show papers a second by the number of texts in a batch."""
    contenders = {}
    for size in SIZES:
        for name in ("onnx int8", "openvino int8"):
            if name in encoders:
                contenders[name, size] = functools.partial(_run, encoders[name], texts, size)
        if find_spec("sentence_transformers"):
            contenders[PEER, size] = functools.partial(_peer(find_model(MODEL), size), texts)
    for run in contenders.values():
        run()
    taken = interleaved(contenders, ROUNDS)
    print(f"papers a second in batches of {', '.join(map(str, SIZES))}")
    for name in dict.fromkeys(name for name, _ in contenders):
        rates = [f"{len(texts) / taken[name, size]:6.1f}" for size in SIZES]
        against = [f"{taken[PEER, size] / taken[name, size]:5.2f}x" for size in SIZES if (PEER, size) in taken]
        print(f"  {name:24} {' '.join(rates)}   to {PEER}: {' '.join(against)}")


def _show_single(work: Mapping[str, Callable[[list[str]], np.ndarray]], titles: list[str]) -> None:
    taken: dict[str, list[float]] = {name: [] for name in work}
    for title in titles[:QUERIES]:
        for name, encode in work.items():
            encode(titles[:1])  # threads of the previous contender may still spin
            taken[name].append(seconds(functools.partial(encode, [title])))
    medians = {name: statistics.median(values) for name, values in taken.items()}
    print(f"{QUERIES} titles one by one, median, ratios to {BASE}")
    for name, value in medians.items():
        print(f"  {name:24} {1000 * value:6.1f} ms {medians[BASE] / value:5.2f}x")


def _run(encoder: Encoder, texts: list[str], size: int) -> np.ndarray:
    session = encoder.sessions(tuple(dict.fromkeys(encoder.card.heads.values())))
    vectors = np.empty((len(texts), encoder.card.dimension), np.float32)
    token_ids = [encoding.ids[:TOKENS] for encoding in encoder.tokenizer.encode_batch_fast(texts)]
    for batch, (found,) in session.each(batches(token_ids, size)):
        vectors[batch.rows] = found
    return vectors


if __name__ == "__main__":
    main()
