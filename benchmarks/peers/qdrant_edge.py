"""Qdrant Edge, Qdrant's engine in the process: its own BM25 for words, vectors in an HNSW graph, its own fusion.

Counts are of the papers that a text filter with any of the words lets pass.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import qdrant_edge as q

from benchmarks.peers.base import CONSTANT, SIZE, WINDOW, Answer, Row, Search, words

if TYPE_CHECKING:
    import numpy as np

PACKAGES = ("qdrant-edge-py",)
FIELDS = ("venue", "year")
BATCH = 1_000


def load(folder: Path, papers: Sequence[Row], vectors: np.ndarray) -> None:
    config = q.EdgeConfig(
        vectors={"meaning": q.EdgeVectorParams(size=vectors.shape[1], distance=q.Distance.Cosine)},
        sparse_vectors={"words": q.EdgeSparseVectorParams(modifier=q.Modifier.Idf)},
    )
    shard = q.EdgeShard.create(str(folder), config)
    text = q.TextIndexParams(stopwords=_stop_words(), stemmer=_stemmer())
    for field, index in {
        "text": text,
        "venue": q.PayloadSchemaType.Keyword,
        "year": q.PayloadSchemaType.Integer,
    }.items():
        shard.update(q.UpdateOperation.create_field_index(field, index))
    analyzer = _analyzer(sum(len(words(row.text)) for row in papers) / len(papers))
    for start in range(0, len(papers), BATCH):
        shard.update(
            q.UpdateOperation.upsert_points(
                [
                    q.Point(
                        number,
                        {"meaning": vectors[number].tolist(), "words": analyzer.embed_document(papers[number].text)},
                        {**papers[number]._asdict(), "text": papers[number].text},
                    )
                    for number in range(start, min(start + BATCH, len(papers)))
                ]
            )
        )
    shard.optimize()
    shard.flush()
    shard.close()


def opened(folder: Path) -> Search:
    shard = q.EdgeShard.load(str(folder))
    analyzer = _analyzer()
    payload = q.PayloadSelector.Include(list(Row._fields))

    def answer(text: str, vector: np.ndarray, fields: Sequence[str]) -> Answer:
        legs = [
            q.Prefetch(WINDOW, q.Query.Nearest(analyzer.embed_query(text), "words")),
            q.Prefetch(WINDOW, q.Query.Nearest(vector.tolist(), "meaning")),
        ]
        found = shard.query(q.QueryRequest(SIZE, query=q.Fusion.Rrf(CONSTANT), prefetches=legs, with_payload=payload))
        matching = q.Filter(must=[q.FieldCondition("text", match=q.MatchTextAny(text))])
        counts = {field: shard.facet(q.FacetRequest(field, 10, exact=True, filter=matching)).hits for field in fields}
        rows = [Row(**point.payload) for point in found]
        return rows, {field: {hit.value: hit.count for hit in hits} for field, hits in counts.items()}

    return answer


def _analyzer(mean: float | None = None) -> q.Bm25:
    return q.Bm25(q.Bm25Config(avg_len=mean, stopwords=_stop_words(), stemmer=_stemmer()))


def _stop_words() -> q.StopwordsSet:
    return q.StopwordsSet(languages={q.Language.English})


def _stemmer() -> q.SnowballParams:
    return q.SnowballParams(q.SnowballLanguage.English)
