"""Papers for large indexes, the same in every run, with queries: what the benchmarks of a million papers share.

Texts are PubMed's, repeated, with one word in six replaced by a word of another paper. A vector is a random point of
the triangle between a paper's vector, by the default model, and those of two of the papers that are most similar to it:
so a million vectors are as close to each other as those of a million papers on the same subjects would be. Queries are
SciFact's claims. Needs SES_TEST_DATA.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np

from benchmarks.common import Remembered, claims, pubmed_rows, seconds
from corpora.paper import Paper
from encoders.encoder import load_encoder
from encoders.models.formats import Format
from encoders.registry import DEFAULT_MODEL
from search_plugin.contract.engine import Document, Index
from search_plugin.contract.schema import Field, IndexSchema, paper_vector
from search_plugin.contract.tree import Filter
from search_plugin.request import SearchRequest
from search_plugin.search import search

QUERIES, DIMENSION, NEIGHBOURS = 200, 384, 20
REPLACED = 6
DRAW = Field("draw", "number", facet=False, origin="custom")
"""A number from 0 to 1, by which a filter lets a share of the papers pass."""
SCHEMA = IndexSchema("none", "none", (paper_vector("prx", DIMENSION, "cosine"),)).with_fields([DRAW])


def encode(folder: Path, count: int | None = None) -> None:
    """Write the vectors of PubMed's papers, or of its first ones, and those of the queries, into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    encoder = load_encoder(DEFAULT_MODEL, cache_dir=folder / "cache")
    texts = [encoder.card.text(row["title"], row["abstract"] or "") for row in pubmed_rows()[:count]]
    papers = encoder.encode(texts)
    np.save(folder / "papers.npy", papers)
    np.save(folder / "similar.npy", np.concatenate([_most_similar(papers, at) for at in range(0, len(papers), 1_000)]))
    np.save(folder / "queries.npy", encoder.encode(claims(QUERIES), Format.QRY))


def _most_similar(papers: np.ndarray, start: int) -> np.ndarray:
    """Return the numbers of the most similar papers of a thousand papers, (papers, NEIGHBOURS), in any order."""
    scores = papers[start : start + 1_000] @ papers.T
    scores[np.arange(len(scores)), np.arange(start, start + len(scores))] = -np.inf
    return np.argpartition(-scores, NEIGHBOURS, axis=1)[:, :NEIGHBOURS]


def known_queries(folder: Path) -> list[tuple[str, np.ndarray]]:
    """The queries, each with its vector, (384,)."""
    vectors = np.load(folder / "queries.npy")
    return list(zip(claims(len(vectors)), vectors, strict=True))


def documents(folder: Path, count: int, seed: int = 0) -> Iterator[Document]:
    """Make a number of papers; another seed gives the same ids other texts and vectors."""
    rows, vectors, similar = pubmed_rows(), np.load(folder / "papers.npy"), np.load(folder / "similar.npy")
    draw = random.Random(seed)
    vocabulary = [word for row in rows[:2_000] for word in (row["abstract"] or "").split()]

    def changed(text: str) -> str:
        return " ".join(draw.choice(vocabulary) if draw.random() < 1 / REPLACED else word for word in text.split())

    for number in range(count):
        at = number % len(rows)
        row = rows[at]
        corners = vectors[[at, *draw.sample(similar[at].tolist(), 2)]]
        # Weights of this distribution make all points of the triangle equally likely.
        vector = np.array([draw.expovariate(1) for _ in corners], np.float32) @ corners
        year = int(row["year"] or 0) or None
        paper = Paper(
            str(number),
            changed(row["title"]) or "untitled",
            changed(row["abstract"] or ""),
            venue=row["journal"],
            year=year,
            extra={"draw": draw.random()},
        )
        yield Document(paper, paper.content_hash(), {"prx": vector / np.linalg.norm(vector)})


def page_times(
    index: Index, queries: Sequence[tuple[str, np.ndarray]], where: Filter | None = None, **options: object
) -> list[float]:
    """Return the milliseconds of each query's page; `options` are those of `SearchRequest`."""
    encoder = Remembered(index, dict(queries))
    return times(
        [
            lambda query=query: search(index, SearchRequest(query, filter=where, **options), encoder)
            for query, _ in queries
        ]
    )


def times(calls: Sequence[Callable[[], object]]) -> list[float]:
    """Return the milliseconds of each call, after a warm-up."""
    for call in calls[:20]:
        call()
    return [1000 * seconds(call) for call in calls]
