"""bm25s, numpy and SQLite, as one puts them together in a notebook: exact, without filters, facets or updates."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.peers.base import WINDOW, Answer, Row, Search, fused
from benchmarks.peers.bm25 import best_words, load_words, open_words

PACKAGES = ("bm25s", "PyStemmer", "numpy")
FIELDS = ()
PAGE = "select number, id, title, abstract, year, venue from papers where number in (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"


def load(folder: Path, papers: Sequence[Row], vectors: np.ndarray) -> None:
    with sqlite3.connect(folder / "papers.db") as database:
        database.execute("create table papers (number integer primary key, id, title, abstract, year, venue)")
        database.executemany(
            "insert into papers values (?, ?, ?, ?, ?, ?)", ((n, *row) for n, row in enumerate(papers))
        )
    np.save(folder / "vectors.npy", vectors)
    load_words(folder / "words", papers)


def opened(folder: Path) -> Search:
    database = sqlite3.connect(folder / "papers.db")
    vectors = np.load(folder / "vectors.npy", mmap_mode="r")
    retriever = open_words(folder / "words")

    def answer(text: str, vector: np.ndarray, _: Sequence[str]) -> Answer:
        scores = vectors @ vector
        nearest = np.argpartition(-scores, WINDOW)[:WINDOW]
        page = fused(best_words(retriever, text), nearest[np.argsort(-scores[nearest])].tolist())
        rows = {row[0]: Row(*row[1:]) for row in database.execute(PAGE, page)}
        return [rows[number] for number in page], {}

    return answer
