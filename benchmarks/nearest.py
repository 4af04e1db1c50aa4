"""LanceDB's vector indexes on real vectors: time to build, time of a query, recall@10 against comparing everything.

Encodes PubMed abstracts by the default model (about two minutes), and searches with SciFact's claims.
Needs SES_TEST_DATA. Run: python -m benchmarks.nearest [PAPERS]
"""

from __future__ import annotations

import json
import lzma
import sys
import tempfile
import time
from itertools import islice
from pathlib import Path

import numpy as np

from benchmarks.common import data_dir, percentile, seconds
from encoders.encoder import load_encoder
from encoders.formats import Format

QUERIES = 200


def main() -> None:
    import lancedb
    import pyarrow as pa
    from lancedb.index import HnswSq, IvfFlat, IvfSq

    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    with tempfile.TemporaryDirectory() as folder:
        encoder = load_encoder(cache_dir=Path(folder))
        with lzma.open(data_dir() / "train" / "pubmed.jsonl.xz", "rt", encoding="utf-8") as file:
            rows = [json.loads(line) for line in islice(file, count)]
        vectors = encoder.encode([encoder.card.text(row["title"], row["abstract"] or "") for row in rows])
        with (data_dir() / "eval" / "scifact" / "queries.jsonl").open(encoding="utf-8") as file:
            queries = encoder.encode([json.loads(line)["text"] for line in islice(file, QUERIES)], Format.QRY)
        column = pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), vectors.shape[1])
        table = lancedb.connect(folder).create_table("p", pa.table({"row": range(len(rows)), "v": column}))
        exact = np.argsort(-(queries @ vectors.T), axis=1)[:, :10]
        kinds = {
            "plain scan": None,
            "IVF, lossless": IvfFlat(distance_type="cosine"),
            "IVF, int8": IvfSq(distance_type="cosine"),
            "HNSW, int8": HnswSq(distance_type="cosine", num_partitions=1),
        }
        print(f"{count:,} papers of PubMed, {len(queries)} claims of SciFact, the 100 nearest of each")
        for name, config in kinds.items():
            built = seconds(lambda config=config: config and table.create_index("v", config=config, replace=True))
            found, taken = [], []
            for query in [*queries[:10], *queries]:
                search = (
                    table.search(query, vector_column_name="v").distance_type("cosine").select(["row", "_distance"])
                )
                search = search.limit(100).ef(200) if "HNSW" in name else search.limit(100)
                begun = time.perf_counter()
                nearest = search.to_arrow()["row"].to_pylist()
                taken.append(time.perf_counter() - begun)
                found.append(nearest[:10])
            recall = np.mean([len({*near} & {*best}) / 10 for near, best in zip(found[10:], exact, strict=True)])
            middle = percentile(taken[10:], 0.5) * 1000
            print(f"{name:14} built in {built:5.1f} s, p50 {middle:5.1f} ms, recall@10 {recall:.3f}")


if __name__ == "__main__":
    main()
