"""The embedded engine of ses; its pages mark the matches in the text, which no peer's do.

Papers are ranked as by the peers, so neighbours do not count; other spellings are searched and words corrected, as by
default.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

from benchmarks.peers.base import SIZE, WINDOW, Answer, Row, Search
from corpora.paper import Paper
from search_plugin.contract.engine import Document
from search_plugin.contract.schema import IndexSchema, paper_vector
from search_plugin.engines.registry import connect
from search_plugin.request import SearchRequest
from search_plugin.search import search

if TYPE_CHECKING:
    import numpy as np

PACKAGES = ("ses",)
FIELDS = ("venue", "year")
BATCH = 2_000


def load(folder: Path, papers: Sequence[Row], vectors: np.ndarray) -> None:
    engine = connect(f"embedded:{folder}")
    schema = IndexSchema("given", "given", (paper_vector("prx", vectors.shape[1], "cosine"),))
    index = engine.build("papers", schema, "benchmark")
    for start in range(0, len(papers), BATCH):
        batch = slice(start, start + BATCH)
        index.upsert([_document(row, vector) for row, vector in zip(papers[batch], vectors[batch], strict=True)])
    index.finish()
    engine.publish(index)


def _document(row: Row, vector: np.ndarray) -> Document:
    paper = Paper(row.id, row.title, row.abstract, year=row.year, venue=row.venue)
    return Document(paper, paper.content_hash(), {"prx": vector})


def opened(folder: Path) -> Search:
    index = connect(f"embedded:{folder}").open("papers")
    card = SimpleNamespace(name="given", fingerprint="given", papers_by="")

    def answer(text: str, vector: np.ndarray, fields: Sequence[str]) -> Answer:
        encoder = SimpleNamespace(card=card, encode=lambda *_: vector[None])
        request = SearchRequest(text, fusion="rrf", neighbours=0, size=SIZE, window=WINDOW, facets=tuple(fields))
        page = search(index, request, encoder)
        rows = [Row(hit.id, hit.title, hit.paper.abstract, hit.paper.year, hit.paper.venue) for hit in page]
        return rows, {name: dict(counts) for name, counts in page.facets.counts.items()} if page.facets else {}

    return answer
