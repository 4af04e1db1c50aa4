"""bm25s beside a vector index of a peer that ranks no words: loading, opening and searching."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import bm25s

from benchmarks.peers.base import WINDOW, Row, stems


def load_words(folder: Path, papers: Sequence[Row]) -> None:
    retriever = bm25s.BM25(method="lucene", k1=1.2, b=0.75)
    retriever.index([stems(row.text) for row in papers], show_progress=False)
    retriever.save(folder)


def open_words(folder: Path) -> bm25s.BM25:
    return bm25s.BM25.load(folder, mmap=True)


def best_words(retriever: bm25s.BM25, text: str) -> list[int]:
    """Return the numbers of the papers that score best."""
    known = [stem for stem in stems(text) if stem in retriever.vocab_dict]
    if not known:
        return []
    found, scores = retriever.retrieve([known], k=WINDOW, show_progress=False)
    return found[0][scores[0] > 0].tolist()
