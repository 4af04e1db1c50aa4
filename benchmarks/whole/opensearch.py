"""sentence-transformers and OpenSearch: `helpers.bulk`, and its hybrid query with a pipeline that joins the legs.

OPENSEARCH_URL names a running server. Its index and its search pipeline `benchmark-whole` are made again.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.whole.base import SIZE, WINDOW, Answer, Read, installed, model_folder

if TYPE_CHECKING:
    from opensearchpy import OpenSearch
    from sentence_transformers import SentenceTransformer

NAME = "benchmark-whole"
MAPPING = {
    "settings": {"index": {"knn": True, "number_of_shards": 1, "number_of_replicas": 0}},
    "mappings": {
        "properties": {
            "title": {"type": "text", "index": False},
            "abstract": {"type": "text", "index": False},
            "text": {"type": "text", "analyzer": "english"},
            "vector": {
                "type": "knn_vector",
                "dimension": 384,
                "method": {"name": "hnsw", "engine": "lucene", "space_type": "innerproduct"},
            },
        }
    },
}
"""Vectors have length 1."""

JOINING = {"phase_results_processors": [{"normalization-processor": {}}]}
"""Its defaults: scores of each leg from 0 to 1, and their mean."""


def versions() -> dict[str, str]:
    return installed("opensearch-py", "sentence-transformers", "torch") | server()


def server() -> dict[str, str]:
    """Return the version of the server."""
    return {"OpenSearch": connected().info()["version"]["number"]}


def made(papers: Sequence[Read], folder: Path) -> Answer:
    del folder  # the index is the server's
    connected()
    from sentence_transformers import SentenceTransformer

    return made_by(SentenceTransformer(model_folder()), papers)


def made_by(model: SentenceTransformer, papers: Sequence[Read]) -> Answer:
    """Index the papers with a model's vectors, as `made` does."""
    from opensearchpy import helpers

    client = connected()
    vectors = model.encode([paper.text for paper in papers])
    client.indices.delete(index=NAME, ignore_unavailable=True)
    client.indices.create(index=NAME, body=MAPPING)
    client.http.put(f"/_search/pipeline/{NAME}", body=JOINING)
    helpers.bulk(
        client,
        (
            {"_index": NAME, "_id": paper.id, **_document(paper), "vector": vector.tolist()}
            for paper, vector in zip(papers, vectors, strict=True)
        ),
    )
    client.indices.refresh(index=NAME)

    def answer(question: str) -> list[str]:
        words = {"match": {"text": question}}
        nearest = {"knn": {"vector": {"vector": model.encode(question).tolist(), "k": WINDOW}}}
        # Without a depth, each leg gives no more papers than the page shows.
        hybrid = {"hybrid": {"queries": [words, nearest], "pagination_depth": WINDOW}}
        body = {"size": SIZE, "query": hybrid, "_source": ["title", "abstract"]}
        found = client.search(index=NAME, body=body, params={"search_pipeline": NAME})
        return [hit["_id"] for hit in found["hits"]["hits"]]

    return answer


def _document(paper: Read) -> dict[str, str]:
    return {"title": paper.title, "abstract": paper.abstract, "text": paper.text}


def connected() -> OpenSearch:
    """Connect to the server that OPENSEARCH_URL names."""
    from opensearchpy import OpenSearch

    if not (url := os.environ.get("OPENSEARCH_URL")):
        raise SystemExit("Set OPENSEARCH_URL to the URL of a running OpenSearch.")
    return OpenSearch(url, timeout=60)
