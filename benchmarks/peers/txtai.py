"""txtai with content and `hybrid`: its own BM25, faiss (IVF as it chooses), and its SQL over SQLite.

It fuses ranks with a constant of 0, not 60, and has no stemmer. Its SQL can group the candidates of a search only, so
it has no counts of all matches.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from txtai import Embeddings

from benchmarks.peers.base import SIZE, Answer, Row, Search

PACKAGES = ("txtai",)
FIELDS = ()
SCORING = {"method": "bm25", "terms": True, "normalize": False, "tokenizer": {"stopwords": True}}
# It takes ten times as many candidates from each leg as a search asks for.
PAGE = f"select id, title, abstract, year, venue from txtai where similar(:text, {SIZE}) limit {SIZE}"  # noqa: S608 - numbers of ours alone


def load(folder: Path, papers: Sequence[Row], vectors: np.ndarray) -> None:
    by_text = {row.text: vector for row, vector in zip(papers, vectors, strict=True)}

    def transform(texts: Sequence[str]) -> np.ndarray:
        return np.stack([by_text[text] for text in texts])

    embeddings = Embeddings(method="external", transform=transform, content=True, hybrid=True, scoring=SCORING)
    embeddings.index((row.id, {**row._asdict(), "text": row.text}) for row in papers)
    del embeddings.config["transform"]
    embeddings.save(str(folder / "papers"))


def opened(folder: Path) -> Search:
    vectors: dict[str, np.ndarray] = {}

    def transform(texts: Sequence[str]) -> np.ndarray:
        return np.stack([vectors[text] for text in texts])

    embeddings = Embeddings()
    embeddings.load(str(folder / "papers"), config={"transform": transform})

    def answer(text: str, vector: np.ndarray, _: Sequence[str]) -> Answer:
        vectors[text] = vector
        return [Row(**row) for row in embeddings.search(PAGE, SIZE, parameters={"text": text})], {}

    return answer
