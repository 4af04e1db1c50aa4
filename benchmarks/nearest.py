"""Approximate against exact nearest papers on real vectors: recall@10 and time, by engine and quantization, in turn.

Encodes PubMed abstracts by the default model (about two minutes), and searches with SciFact's claims.
Needs SES_TEST_DATA. Run: python -m benchmarks.nearest [PAPERS] [FORM ...] [ENGINE ...], such as none int8
http://HOST:9200; without forms all, without engines libraries in the process.
"""

from __future__ import annotations

import functools
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, get_args

import numpy as np

from benchmarks.common import claims, percentile, pubmed_rows, seconds
from benchmarks.searching import settled
from corpora.errors import SesError
from corpora.paper import Paper
from encoders.encoder import load_encoder
from encoders.models.formats import Format
from search_plugin.contract.engine import Document, Index
from search_plugin.contract.plan import Plan, VectorClause
from search_plugin.contract.schema import IndexSchema, Quantization, paper_vector
from search_plugin.engines.embedded.vectors import extend, load, nearest
from search_plugin.engines.registry import connect

QUERIES = 200
WINDOW = 100

Search = Callable[[np.ndarray], list[int]]
"""Returns the rows of the papers nearest to a query's vector, nearest first."""


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    with tempfile.TemporaryDirectory() as folder:
        encoder = load_encoder("all-MiniLM-L6-v2", cache_dir=Path(folder))
        rows = pubmed_rows()[:count]
        vectors = encoder.encode([encoder.card.text(row["title"], row["abstract"] or "") for row in rows])
        queries = encoder.encode(claims(QUERIES), Format.QRY)
        print(f"{count:,} papers of PubMed, {len(queries)} claims of SciFact, the 100 nearest of each")
        forms = [argument for argument in sys.argv[2:] if argument in get_args(Quantization)]
        urls = [argument for argument in sys.argv[2:] if argument not in forms]
        for url in urls:
            measure(in_cluster(url, forms or get_args(Quantization), vectors), vectors, queries)
            for form in forms or get_args(Quantization):
                connect(url).drop(f"nearest-{form}")
        if not urls:
            measure(in_process(vectors, Path(folder)), vectors, queries)


def in_cluster(url: str, forms: Sequence[Quantization], vectors: np.ndarray) -> dict[str, Search]:
    """Build an index in every form, and return how to search each."""
    engine = connect(url)
    documents = [Document(Paper(str(row), "title"), str(row), {"prx": vector}) for row, vector in enumerate(vectors)]
    searches = {}
    for form in forms:
        schema = IndexSchema("none", "none", (paper_vector("prx", vectors.shape[1], "cosine"),), form)
        try:
            index = engine.build(f"nearest-{form}", schema, "benchmark")
            index.upsert(documents)
            index.finish()
            settled(index)
            searches[f"{engine.cluster.product.name}, {form}"] = functools.partial(_in_index, index)
            searches[f"{engine.cluster.product.name}, {form}"](vectors[0])
        except SesError as error:
            searches.pop(f"{engine.cluster.product.name}, {form}", None)
            print(f"{engine.cluster.product.name}, {form}: {error}")
    return searches


def _in_index(index: Index, query: np.ndarray) -> list[int]:
    return [int(hit.id) for hit in index.search(Plan("", (VectorClause("prx", query),), None, WINDOW))["prx"]]


def in_process(vectors: np.ndarray, folder: Path) -> dict[str, Search]:
    """Build indexes of libraries, and return how to search each; candidates are ranked again by full vectors."""
    import faiss

    bits, metric = faiss.ScalarQuantizer.QT_8bit, faiss.METRIC_INNER_PRODUCT
    dimension = vectors.shape[1]

    def graph(effort: int) -> Any:
        index = faiss.IndexHNSWSQ(dimension, bits, 16, metric)
        index.hnsw.efConstruction, index.hnsw.efSearch = effort, 2 * WINDOW
        return index

    kinds = {
        "faiss, float32 scan": faiss.IndexFlatIP(dimension),
        "faiss, 8-bit scan": faiss.IndexScalarQuantizer(dimension, bits, metric),
        "faiss, 8-bit HNSW, 60": graph(60),
        "faiss, 8-bit HNSW, 100": graph(100),
    }
    searches: dict[str, Search] = {"numpy, float32": lambda query: np.argsort(-(vectors @ query))[:WINDOW].tolist()}
    for name, index in kinds.items():
        print(f"{name:28} built in {seconds(functools.partial(_fill, index, vectors)):5.1f} s")
        searches[name] = functools.partial(_in_faiss, index, vectors)
    taken = seconds(lambda: extend(folder, "ours", lambda: vectors, "cosine"))
    print(f"{'faiss, 8-bit lists (ours)':28} built in {taken:5.1f} s")
    lists = load(folder, "ours", len(vectors))
    searches["faiss, 8-bit lists (ours)"] = lambda query: nearest(vectors, query, "cosine", WINDOW, None, lists)[
        0
    ].tolist()
    if find_spec("usearch"):
        from usearch.index import Index as Usearch

        graph_of_bytes = Usearch(ndim=dimension, metric="ip", dtype="i8", connectivity=16, expansion_search=2 * WINDOW)
        taken = seconds(lambda: graph_of_bytes.add(np.arange(len(vectors)), vectors))
        print(f"{'usearch, 8-bit HNSW':28} built in {taken:5.1f} s")
        searches["usearch, 8-bit HNSW"] = lambda query: _ranked_again(
            graph_of_bytes.search(query, 2 * WINDOW).keys.astype(np.int64), vectors, query
        )
    return searches


def _fill(index: Any, vectors: np.ndarray) -> None:
    index.train(vectors)
    index.add(vectors)


def _in_faiss(index: Any, vectors: np.ndarray, query: np.ndarray) -> list[int]:
    return _ranked_again(index.search(query[None], 2 * WINDOW)[1][0], vectors, query)


def _ranked_again(rows: np.ndarray, vectors: np.ndarray, query: np.ndarray) -> list[int]:
    found: list[int] = rows[np.argsort(-(vectors[rows] @ query))][:WINDOW].tolist()
    return found


def measure(searches: Mapping[str, Search], vectors: np.ndarray, queries: np.ndarray) -> None:
    """Search everything in turn, query by query, and print times and recall."""
    exact = np.argsort(-(queries @ vectors.T), axis=1)[:, :10]
    found: dict[str, list[list[int]]] = {name: [] for name in searches}
    taken: dict[str, list[float]] = {name: [] for name in searches}
    for query in [*queries[:10], *queries]:
        for name, search in searches.items():
            begun = time.perf_counter()
            nearest = search(query)
            taken[name].append(time.perf_counter() - begun)
            found[name].append(nearest[:10])
    middles = {name: percentile(times[10:], 0.5) * 1000 for name, times in taken.items()}
    for name, middle in middles.items():
        recall = np.mean([len({*near} & {*best}) / 10 for near, best in zip(found[name][10:], exact, strict=True)])
        ratio = middle / next(iter(middles.values()))
        print(f"{name:28} p50 {middle:5.1f} ms  {ratio:5.2f} x the first  recall@10 {recall:.3f}", flush=True)


if __name__ == "__main__":
    main()
