"""Recall against bytes of a vector among many papers, in the forms of `benchmarks.economy`, by exact scans.

The papers are every eighth of the 259,052 for training, or the first of these, each by its first 240 characters. The
queries are the beginnings of 200 others of the same corpora. The rotation is fitted on up to 20,000 of the papers.
FOLDER keeps the vectors. Needs SES_TEST_DATA. Run: python -m benchmarks.economy_recall FOLDER [PAPERS]
"""

from __future__ import annotations

import statistics
import sys
import time
from pathlib import Path

import numpy as np

from benchmarks.economy import BYTES, DIMENSIONS, STORED, unit
from benchmarks.lists import PART, QUERIES, training_texts
from encoders.encoder import load_encoder
from encoders.models.formats import Format
from encoders.projection import rotation
from encoders.registry import DEFAULT_MODEL
from indexer.projecting import SAMPLE
from search_plugin.engines.embedded.vectors import INDEXED_FROM

EACH, BEGINNING = 8, 80
NEAREST, CANDIDATES = 10, 40


def main() -> None:
    folder, count = Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 32_768
    folder.mkdir(parents=True, exist_ok=True)
    papers, queries = vectors(folder, count)
    wanted = nearest(queries @ papers.T, NEAREST)
    print(f"{len(papers):,} papers, {len(queries)} queries: recall@{NEAREST}, and in the first {CANDIDATES}; bytes")
    print("| numbers |", " | ".join(STORED), "|")
    print("| --- |", " | ".join("---" for _ in STORED), "|")
    drawn = np.random.default_rng(0).permutation(len(papers))[:SAMPLE]
    for dimension in DIMENSIONS:
        whole = dimension == papers.shape[1]
        turn = np.eye(dimension, dtype=np.float32) if whole else rotation(papers[drawn], dimension)
        own, asked = unit(papers @ turn.T), unit(queries @ turn.T)
        shown = []
        for kept, store in STORED.items():
            found = nearest(asked @ store(own).T, CANDIDATES)
            first, among = (
                np.mean([len({*row[:depth]} & {*best}) / NEAREST for row, best in zip(found, wanted, strict=True)])
                for depth in (NEAREST, CANDIDATES)
            )
            shown.append(f"{first:.3f}, {among:.3f}; {BYTES[kept](dimension):g}")
        print("|", " | ".join([str(dimension), *shown]), "|", flush=True)
    ratio = halves_over_floats(papers[:INDEXED_FROM], queries)
    print(f"An exact scan of fp16 takes {ratio:.1f} times as long as one of fp32")


def vectors(folder: Path, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the vectors of papers and of queries, float32 (count, numbers), encoded in parts that are kept."""
    encoder = load_encoder(DEFAULT_MODEL, cache_dir=folder / "cache")
    texts = training_texts(encoder.card)
    own, others = texts[::EACH][:count], texts[EACH // 2 :: EACH][:count]
    parts = []
    for start in range(0, len(own), PART):
        part = folder / f"papers-{start:06}.npy"
        if not part.exists():
            np.save(part, encoder.encode(own[start : start + PART]))
        parts.append(np.load(part)[: count - start])
    asked = [text[:BEGINNING] for text in others[:: len(others) // QUERIES][:QUERIES]]
    return np.concatenate(parts), encoder.encode(asked, Format.QRY)


def halves_over_floats(papers: np.ndarray, queries: np.ndarray) -> float:
    """Return how many times as long numpy takes to score papers that are kept in 16 bits as those kept in 32."""
    halves = papers.astype(np.float16)
    taken: tuple[list[float], list[float]] = ([], [])
    for query in queries:
        for kept, times in zip((papers, halves), taken, strict=True):
            begun = time.thread_time()
            kept.astype(np.float32, copy=False) @ query
            times.append(time.thread_time() - begun)
    floats, sixteen = map(statistics.median, taken)
    return sixteen / floats


def nearest(scores: np.ndarray, count: int) -> np.ndarray:
    """Return the rows of the highest scores of each query, the highest first, int (queries, count)."""
    best = np.argpartition(-scores, count, axis=1)[:, :count]
    order = np.argsort(-np.take_along_axis(scores, best, axis=1), axis=1)
    return np.take_along_axis(best, order, axis=1)


if __name__ == "__main__":
    main()
