"""The embedded engine's lists of vectors among many: recall, time and filters, beside 8 bits and a graph of faiss.

A vector is that of one of PubMed's first 8,000 papers, moved towards that of another by a random amount, or with `real`
those of all 259,052 papers for training, each by its first 240 characters, which takes an hour the first time. FOLDER
keeps them. Queries are SciFact's claims. CPU times of one thread. Needs SES_TEST_DATA.
Run: python -m benchmarks.lists FOLDER [VECTORS | real]
"""

from __future__ import annotations

import json
import lzma
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import faiss
import numpy as np

from benchmarks.altered import encode
from benchmarks.common import data_dir, percentile
from encoders.encoder import load_encoder
from encoders.models.card import ModelCard
from encoders.registry import DEFAULT_MODEL
from search_plugin.engines.embedded.vectors import Approximate, extend, load, nearest, read_lists

QUERIES, WINDOW, BLOCK = 200, 100, 50_000
ENCODED, MOST_MOVED = 8_000, 0.6
CHARACTERS, PART = 240, 4_096
SHARES = (1.0, 0.9, 0.5, 0.05, 0.005)
GRAPHS = 300_000
"""Vectors up to which a graph is built for comparison; it takes minutes."""


def main() -> None:
    folder, wanted = Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else "1000000"
    if not (folder / "papers.npy").exists():
        encode(folder, ENCODED)
    faiss.omp_set_num_threads(1)
    draw = np.random.default_rng(0)
    matrix = real(folder) if wanted == "real" else mixed(np.load(folder / "papers.npy"), int(wanted), draw)
    count, queries = len(matrix), np.load(folder / "queries.npy")[:QUERIES]
    queries /= np.linalg.norm(queries, axis=1, keepdims=True)
    scores = queries @ matrix.T
    print(f"{count:,} vectors, the nearest {WINDOW} of {len(queries)} queries")
    with tempfile.TemporaryDirectory() as built:
        begun = time.process_time()
        extend(Path(built), "v", lambda: matrix, "cosine")
        print(f"lists built in {time.process_time() - begun:.0f} s of CPU time")
        lists = load(Path(built), "v", count)
        for share in SHARES:
            allowed = None if share == 1 else draw.random(count) < share
            found = [timed(partial(nearest, matrix, query, "cosine", WINDOW, allowed, lists)) for query in queries]
            report(f"lists, {share:.1%} pass", found, scores, allowed)
        report("lists of 8 bits", in_8_bits(matrix, queries, lists), scores, None)
    if count <= GRAPHS:
        begun = time.process_time()
        graph = faiss.IndexHNSWSQ(matrix.shape[1], faiss.ScalarQuantizer.QT_8bit, 24, faiss.METRIC_INNER_PRODUCT)
        graph.hnsw.efConstruction = 100
        graph.train(matrix[:20_000])
        graph.add(matrix)
        print(f"graph built in {time.process_time() - begun:.0f} s")
        for effort in (400, 800, 1_200):
            parameters = faiss.SearchParametersHNSW(efSearch=effort)
            found = [timed(partial(graph.search, query[None], 2 * WINDOW, params=parameters)) for query in queries]
            report(f"graph, {effort} visited, candidates", found, scores, None)


def in_8_bits(matrix: np.ndarray, queries: np.ndarray, lists: Approximate) -> list[tuple[np.ndarray, float]]:
    """Return what the same lists find with 8 bits for each number, and twice as many candidates as wanted."""
    kind, metric = faiss.ScalarQuantizer.QT_8bit, faiss.METRIC_INNER_PRODUCT
    centres = faiss.downcast_index(lists.index.quantizer)
    index = faiss.IndexIVFScalarQuantizer(centres, matrix.shape[1], lists.index.nlist, kind, metric)
    index.by_residual = False
    begun = time.process_time()
    index.train(matrix[:20_000])
    index.add(matrix)
    print(f"lists of 8 bits filled in {time.process_time() - begun:.0f} s of CPU time")
    parameters = faiss.SearchParametersIVF(nprobe=read_lists(index.nlist))

    def find(query: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        rows = index.search(query[None], 2 * WINDOW, params=parameters)[1][0]
        values = matrix[rows] @ query
        order = np.argsort(-values)[:WINDOW]
        return rows[order], values[order]

    return [timed(partial(find, query)) for query in queries]


def real(folder: Path) -> np.ndarray:
    """Return the vectors of all papers for training, encoded in parts, float32 (papers, dimension)."""
    encoder = load_encoder(DEFAULT_MODEL, cache_dir=folder / "cache")
    texts = training_texts(encoder.card)
    parts = []
    for start in range(0, len(texts), PART):
        part = folder / f"real-{start:06}.npy"
        if not part.exists():
            np.save(part, encoder.encode(texts[start : start + PART]))
        parts.append(np.load(part))
    return np.concatenate(parts)


def training_texts(card: ModelCard) -> list[str]:
    """Return the first characters of all papers for training, as a model reads them."""
    texts: list[str] = []
    for path in sorted((data_dir() / "train").glob("*.jsonl.xz")):
        with lzma.open(path, "rt", encoding="utf-8") as file:
            rows = map(json.loads, file)
            texts += [card.text(row["title"], row.get("abstract") or "") for row in rows if row.get("title")]
    return [text[:CHARACTERS] for text in texts]


def mixed(papers: np.ndarray, count: int, draw: np.random.Generator) -> np.ndarray:
    """Return vectors of papers, each moved towards another by a random amount, float32 (count, dimension)."""
    blocks = []
    for start in range(0, count, BLOCK):
        size = min(BLOCK, count - start)
        first, second = draw.integers(0, len(papers), (2, size))
        moved = papers[first] + draw.uniform(0, MOST_MOVED, (size, 1)).astype(np.float32) * papers[second]
        blocks.append(moved / np.linalg.norm(moved, axis=1, keepdims=True))
    return np.concatenate(blocks)


def timed(search: Callable[[], tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, float]:
    """Return the rows that a search found, and its milliseconds."""
    begun = time.thread_time()
    found = search()
    taken = 1000 * (time.thread_time() - begun)
    return next(part for part in found if part.dtype == np.int64).ravel(), taken


def report(name: str, found: list[tuple[np.ndarray, float]], scores: np.ndarray, allowed: np.ndarray | None) -> None:
    """Print recall among the nearest 10 and 100, and the median time."""
    recalls = {10: 0.0, WINDOW: 0.0}
    for (rows, _), one in zip(found, scores, strict=True):
        passing = one if allowed is None else np.where(allowed, one, -np.inf)
        exact = np.argpartition(-passing, WINDOW)[:WINDOW]
        exact = exact[np.argsort(-passing[exact])]
        for depth in recalls:
            recalls[depth] += len(set(rows) & set(exact[:depth])) / depth / len(found)
    shown = ", ".join(f"recall@{depth} {value:.3f}" for depth, value in recalls.items())
    print(f"  {name:34} {shown}, p50 {percentile([taken for _, taken in found], 0.5):5.2f} ms", flush=True)


if __name__ == "__main__":
    main()
