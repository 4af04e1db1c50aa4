"""Qdrant's local mode: sparse vectors of words with its idf, dense vectors, both exact, joined by its own fusion.

It is meant for tests: it loops in Python over all papers' words.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from zlib import crc32

from qdrant_client import QdrantClient
from qdrant_client import models as m

from benchmarks.peers.base import CONSTANT, SIZE, WINDOW, Answer, Row, Search, stems

if TYPE_CHECKING:
    import numpy as np

PACKAGES = ("qdrant-client", "PyStemmer")
FIELDS = ()
BATCH = 1_000
K1, B = 1.2, 0.75


def load(folder: Path, papers: Sequence[Row], vectors: np.ndarray) -> None:
    client = QdrantClient(path=str(folder))
    client.create_collection(
        "papers",
        vectors_config={"meaning": m.VectorParams(size=vectors.shape[1], distance=m.Distance.COSINE)},
        sparse_vectors_config={"words": m.SparseVectorParams(modifier=m.Modifier.IDF)},
    )
    counted = [Counter(crc32(stem.encode()) for stem in stems(row.text)) for row in papers]
    mean = sum(counts.total() for counts in counted) / len(counted)
    points = (
        m.PointStruct(
            id=number,
            vector={"meaning": vectors[number].tolist(), "words": _frequencies(counts, mean)},
            payload=row._asdict(),
        )
        for number, (row, counts) in enumerate(zip(papers, counted, strict=True))
    )
    client.upload_points("papers", points, batch_size=BATCH)
    client.close()


def opened(folder: Path) -> Search:
    client = QdrantClient(path=str(folder))

    def answer(text: str, vector: np.ndarray, _: Sequence[str]) -> Answer:
        asked = sorted({crc32(stem.encode()) for stem in stems(text)})
        legs = [
            m.Prefetch(query=m.SparseVector(indices=asked, values=[1.0] * len(asked)), using="words", limit=WINDOW),
            m.Prefetch(query=vector.tolist(), using="meaning", limit=WINDOW),
        ]
        fusion = m.RrfQuery(rrf=m.Rrf(k=CONSTANT))
        found = client.query_points("papers", prefetch=legs, query=fusion, limit=SIZE, with_payload=True)
        return [Row(**point.payload) for point in found.points], {}

    return answer


def _frequencies(counts: Counter[int], mean: float) -> m.SparseVector:
    """Return BM25's part of a paper; the idf is multiplied in when it is searched."""
    length = K1 * (1 - B + B * counts.total() / mean)
    terms = sorted(counts.items())
    values = [count * (K1 + 1) / (count + length) for _, count in terms]
    return m.SparseVector(indices=[term for term, _ in terms], values=values)
