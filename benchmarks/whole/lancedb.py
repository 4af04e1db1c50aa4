"""LanceDB's hybrid query with its own reranker: a text index, and vectors by sentence-transformers in partitions.

The partitions are without loss (IVF) and all are searched, which is faster than its plain scan.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from benchmarks.whole.base import SIZE, WINDOW, Answer, Read, installed, model_folder

PARTITION = 8_192


def versions() -> dict[str, str]:
    return installed("lancedb", "sentence-transformers", "torch")


def made(papers: Sequence[Read], folder: Path) -> Answer:
    import lancedb
    import pyarrow as pa
    from lancedb.index import FTS, IvfFlat
    from lancedb.rerankers import RRFReranker
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(model_folder())
    vectors = model.encode([paper.text for paper in papers])
    columns = dict(zip(Read._fields, map(list, zip(*papers, strict=True)), strict=True))
    flat = pa.FixedSizeListArray.from_arrays(vectors.ravel(), vectors.shape[1])
    rows = pa.table({**columns, "text": [paper.text for paper in papers], "vector": flat})
    table = lancedb.connect(folder).create_table("papers", rows)
    table.create_index("text", config=FTS())
    table.create_index("vector", config=IvfFlat(distance_type="cosine", target_partition_size=PARTITION))
    reranker = RRFReranker()
    partitions = len(papers) // PARTITION + 1

    def answer(question: str) -> list[str]:
        query = table.search(query_type="hybrid").vector(model.encode(question)).text(question)
        query = query.distance_type("cosine").minimum_nprobes(partitions).rerank(reranker)
        return query.select(list(Read._fields)).limit(WINDOW).to_arrow()["id"].to_pylist()[:SIZE]

    return answer
