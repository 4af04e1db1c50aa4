"""Approximate against exact nearest papers on real vectors: recall@10 and time, by engine and quantization, in turn.

Encodes PubMed abstracts by the default model (about two minutes), and searches with SciFact's claims.
Needs SES_TEST_DATA. Run: python -m benchmarks.nearest [PAPERS] [FORM ...] [ENGINE ...], such as none int8
http://HOST:9200; without forms all, without engines LanceDB's kinds of index.
"""

from __future__ import annotations

import functools
import json
import lzma
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, get_args

import numpy as np

from benchmarks.common import data_dir, percentile, seconds
from benchmarks.searching import settled
from corpora.errors import SesError
from corpora.paper import Paper
from encoders.encoder import load_encoder
from encoders.formats import Format
from search_plugin.engines.base import Document, Index
from search_plugin.engines.lance_index import PARTITION
from search_plugin.engines.lance_legs import PROBES
from search_plugin.engines.registry import connect
from search_plugin.plan import Plan, VectorClause
from search_plugin.schema import IndexSchema, Quantization, paper_vector

QUERIES = 200
WINDOW = 100

Search = Callable[[np.ndarray], list[int]]
"""From a query's vector to the rows of the nearest papers, the nearest first."""


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    with tempfile.TemporaryDirectory() as folder:
        encoder = load_encoder("all-MiniLM-L6-v2", cache_dir=Path(folder))
        with lzma.open(data_dir() / "train" / "pubmed.jsonl.xz", "rt", encoding="utf-8") as file:
            rows = [json.loads(line) for line in islice(file, count)]
        vectors = encoder.encode([encoder.card.text(row["title"], row["abstract"] or "") for row in rows])
        with (data_dir() / "eval" / "scifact" / "queries.jsonl").open(encoding="utf-8") as file:
            queries = encoder.encode([json.loads(line)["text"] for line in islice(file, QUERIES)], Format.QRY)
        print(f"{count:,} papers of PubMed, {len(queries)} claims of SciFact, the 100 nearest of each")
        forms = [argument for argument in sys.argv[2:] if argument in get_args(Quantization)]
        urls = [argument for argument in sys.argv[2:] if argument not in forms]
        for url in urls:
            measure(in_cluster(url, forms or get_args(Quantization), vectors), vectors, queries)
            for form in forms or get_args(Quantization):
                connect(url).drop(f"nearest-{form}")
        if not urls:
            measure(in_lance(folder, vectors), vectors, queries)


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


def in_lance(folder: str, vectors: np.ndarray) -> dict[str, Search]:
    """Build every kind of LanceDB's indexes, and return how to search each."""
    import lancedb
    import pyarrow as pa
    from lancedb.index import HnswSq, IvfFlat, IvfSq

    column = pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), vectors.shape[1])
    kinds = {
        "plain scan": None,
        "IVF, lossless": IvfFlat(distance_type="cosine", target_partition_size=PARTITION),
        "IVF, int8": IvfSq(distance_type="cosine", target_partition_size=PARTITION),
        "HNSW, int8": HnswSq(distance_type="cosine", num_partitions=1),
    }
    searches = {}
    for number, (name, config) in enumerate(kinds.items()):
        table = lancedb.connect(folder).create_table(f"t{number}", pa.table({"row": range(len(vectors)), "v": column}))
        built = seconds(lambda table=table, config=config: config and table.create_index("v", config=config))
        print(f"{name:28} built in {built:5.1f} s")
        searches[name] = functools.partial(_in_table, table)
    return searches


def _in_table(table: Any, query: np.ndarray) -> list[int]:
    found = table.search(query, vector_column_name="v").distance_type("cosine").select(["row", "_distance"])
    return found.limit(WINDOW).ef(2 * WINDOW).minimum_nprobes(PROBES).to_arrow()["row"].to_pylist()


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
