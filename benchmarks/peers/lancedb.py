"""LanceDB's hybrid query with its own reranker: a text index, and vectors in partitions without loss (IVF).

Every partition is searched, so the vector leg is exact; that is faster than LanceDB's plain scan.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import lancedb
import pyarrow as pa
from lancedb.index import FTS, IvfFlat
from lancedb.rerankers import RRFReranker

from benchmarks.peers.base import CONSTANT, SIZE, WINDOW, Answer, Row, Search

if TYPE_CHECKING:
    import numpy as np

PACKAGES = ("lancedb",)
FIELDS = ("venue", "year")
PARTITION = 8_192


def load(folder: Path, papers: Sequence[Row], vectors: np.ndarray) -> None:
    columns = {name: list(values) for name, values in zip(Row._fields, zip(*papers, strict=True), strict=True)}
    flat = pa.FixedSizeListArray.from_arrays(vectors.ravel(), vectors.shape[1])
    rows = pa.table({**columns, "text": [row.text for row in papers], "vector": flat})
    table = lancedb.connect(folder).create_table("papers", rows)
    table.create_index("text", config=FTS(language="English", stem=True, remove_stop_words=True))
    table.create_index("vector", config=IvfFlat(distance_type="cosine", target_partition_size=PARTITION))


def opened(folder: Path) -> Search:
    table = lancedb.connect(folder).open_table("papers")
    reranker = RRFReranker(K=CONSTANT)
    rows = table.count_rows()
    partitions = rows // PARTITION + 1

    def answer(text: str, vector: np.ndarray, fields: Sequence[str]) -> Answer:
        query = table.search(query_type="hybrid").vector(vector).text(text).distance_type("cosine").rerank(reranker)
        found = query.minimum_nprobes(partitions).select(list(Row._fields)).limit(WINDOW).to_arrow().slice(0, SIZE)
        page = [Row(*row.values()) for row in found.select(list(Row._fields)).to_pylist()]
        return page, _counts(text, fields) if fields else {}

    def _counts(text: str, fields: Sequence[str]) -> dict[str, dict[str | int, int]]:
        # LanceDB groups nothing: the fields of all matches are read, and Arrow counts them.
        matches = table.search(text, query_type="fts").select(list(fields)).limit(rows).to_arrow()
        counts = {}
        for field in fields:
            groups = matches[field].drop_null().value_counts()
            best = sorted(zip(*map(pa.Array.to_pylist, groups.flatten()), strict=True), key=lambda pair: -pair[1])
            counts[field] = dict(best[:10])
        return counts

    return answer
