"""Approximate against exact nearest papers on real vectors: recall@10 and time, by engine and quantization.

Encodes PubMed abstracts by the default model (about two minutes), and searches with SciFact's claims.
Needs SES_TEST_DATA. Run: python -m benchmarks.nearest [PAPERS] [FORM ...] [ENGINE ...], such as none int8
http://HOST:9200; without forms all, without engines LanceDB's kinds of index.
"""

from __future__ import annotations

import json
import lzma
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from typing import get_args

import numpy as np

from benchmarks.common import data_dir, percentile, seconds
from benchmarks.searching import settled
from corpora.errors import SesError
from corpora.paper import Paper
from encoders.encoder import load_encoder
from encoders.formats import Format
from search_plugin.engines.base import Document
from search_plugin.engines.registry import connect
from search_plugin.plan import Plan, VectorClause
from search_plugin.schema import IndexSchema, Quantization, VectorField

QUERIES = 200


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    with tempfile.TemporaryDirectory() as folder:
        encoder = load_encoder(cache_dir=Path(folder))
        with lzma.open(data_dir() / "train" / "pubmed.jsonl.xz", "rt", encoding="utf-8") as file:
            rows = [json.loads(line) for line in islice(file, count)]
        vectors = encoder.encode([encoder.card.text(row["title"], row["abstract"] or "") for row in rows])
        with (data_dir() / "eval" / "scifact" / "queries.jsonl").open(encoding="utf-8") as file:
            queries = encoder.encode([json.loads(line)["text"] for line in islice(file, QUERIES)], Format.QRY)
        print(f"{count:,} papers of PubMed, {len(queries)} claims of SciFact, the 100 nearest of each")
        forms = [argument for argument in sys.argv[2:] if argument in get_args(Quantization)]
        urls = [argument for argument in sys.argv[2:] if argument not in forms]
        for url in urls:
            for quantization in forms or get_args(Quantization):
                in_cluster(url, quantization, vectors, queries)
        if not urls:
            in_lance(folder, vectors, queries)


def in_cluster(url: str, quantization: Quantization, vectors: np.ndarray, queries: np.ndarray) -> None:
    engine = connect(url)
    name = f"{engine.cluster.product.name}, {quantization}"
    schema = IndexSchema("none", "none", (VectorField("prx", vectors.shape[1], "cosine"),), quantization)
    try:
        index = engine.build("nearest", schema, "benchmark")
    except SesError as error:
        print(f"{name:28} {error}")
        return
    documents = [Document(Paper(str(row), "title"), str(row), {"prx": vector}) for row, vector in enumerate(vectors)]

    def load() -> None:
        index.upsert(documents)
        index.finish()
        settled(index)

    built = seconds(load)

    def search(query: np.ndarray) -> list[int]:
        return [int(hit.id) for hit in index.search(Plan("", (VectorClause("prx", query),), None, 100))["prx"]]

    try:
        measure(name, built, search, vectors, queries)
    except SesError as error:
        print(f"{name:28} {error}")
    engine.drop("nearest")


def in_lance(folder: str, vectors: np.ndarray, queries: np.ndarray) -> None:
    import lancedb
    import pyarrow as pa
    from lancedb.index import HnswSq, IvfFlat, IvfSq

    column = pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), vectors.shape[1])
    table = lancedb.connect(folder).create_table("p", pa.table({"row": range(len(vectors)), "v": column}))
    kinds = {
        "plain scan": None,
        "IVF, lossless": IvfFlat(distance_type="cosine"),
        "IVF, int8": IvfSq(distance_type="cosine"),
        "HNSW, int8": HnswSq(distance_type="cosine", num_partitions=1),
    }
    for name, config in kinds.items():
        built = seconds(lambda config=config: config and table.create_index("v", config=config, replace=True))

        def search(query: np.ndarray, name: str = name) -> list[int]:
            found = table.search(query, vector_column_name="v").distance_type("cosine").select(["row", "_distance"])
            found = found.limit(100).ef(200) if "HNSW" in name else found.limit(100)
            return found.to_arrow()["row"].to_pylist()

        measure(name, built, search, vectors, queries)


def measure(
    name: str, built: float, search: Callable[[np.ndarray], Sequence[int]], vectors: np.ndarray, queries: np.ndarray
) -> None:
    exact = np.argsort(-(queries @ vectors.T), axis=1)[:, :10]
    found, taken = [], []
    for query in [*queries[:10], *queries]:
        begun = time.perf_counter()
        nearest = search(query)
        taken.append(time.perf_counter() - begun)
        found.append(nearest[:10])
    recall = np.mean([len({*near} & {*best}) / 10 for near, best in zip(found[10:], exact, strict=True)])
    middle = percentile(taken[10:], 0.5) * 1000
    print(f"{name:28} built in {built:5.1f} s, p50 {middle:5.1f} ms, recall@10 {recall:.3f}", flush=True)


if __name__ == "__main__":
    main()
