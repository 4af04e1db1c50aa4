"""Chroma's persistent client for vectors (HNSW as it chooses) and papers, and bm25s for words.

In the process Chroma ranks no words: it filters by substrings, and its sparse index is for its servers.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import chromadb
from chromadb.config import Settings

from benchmarks.peers.base import WINDOW, Answer, Row, Search, fused
from benchmarks.peers.bm25 import best_words, load_words, open_words

if TYPE_CHECKING:
    import numpy as np

PACKAGES = ("chromadb", "bm25s", "PyStemmer")
FIELDS = ()
BATCH = 5_000


def load(folder: Path, papers: Sequence[Row], vectors: np.ndarray) -> None:
    settings = {"hnsw": {"space": "cosine"}}
    collection = _connect(folder).create_collection("papers", configuration=settings, embedding_function=None)
    for start in range(0, len(papers), BATCH):
        rows = papers[start : start + BATCH]
        collection.add(
            ids=[row.id for row in rows],
            embeddings=vectors[start : start + BATCH],
            documents=[row.abstract for row in rows],
            metadatas=[
                {name: value for name, value in row._asdict().items() if name in ("title", "year", "venue") and value}
                for row in rows
            ],
        )
    load_words(folder / "words", papers)
    (folder / "ids").write_text("\n".join(row.id for row in papers), encoding="utf-8")


def opened(folder: Path) -> Search:
    collection = _connect(folder).get_collection("papers", embedding_function=None)
    retriever = open_words(folder / "words")
    ids = (folder / "ids").read_text(encoding="utf-8").split("\n")

    def answer(text: str, vector: np.ndarray, _: Sequence[str]) -> Answer:
        nearest = collection.query(query_embeddings=vector[None], n_results=WINDOW, include=[])["ids"][0]
        page = fused((ids[number] for number in best_words(retriever, text)), nearest)
        found = collection.get(ids=page, include=["documents", "metadatas"])
        rows = {
            paper: Row(paper, facts["title"], abstract, facts.get("year"), facts.get("venue", ""))
            for paper, abstract, facts in zip(found["ids"], found["documents"], found["metadatas"], strict=True)
        }
        return [rows[paper] for paper in page], {}

    return answer


def _connect(folder: Path) -> chromadb.ClientAPI:
    return chromadb.PersistentClient(str(folder), Settings(anonymized_telemetry=False))
