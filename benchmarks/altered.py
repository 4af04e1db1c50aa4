"""Papers for large indexes, the same in every run, with queries: what the benchmarks of a million papers share.

Texts are PubMed's, repeated, with one word in six replaced by a word of another paper. A vector is that of one of
PubMed's first papers by the default model, moved towards that of another one by a random amount. Queries are SciFact's
claims. Needs SES_TEST_DATA.
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

ENCODED, QUERIES, DIMENSION = 8_000, 200, 384
REPLACED, MOST_MOVED = 6, 0.6
DRAW = Field("draw", "number", facet=False, origin="custom")
"""A number from 0 to 1, by which a filter lets a share of the papers pass."""
SCHEMA = IndexSchema("none", "none", (paper_vector("prx", DIMENSION, "cosine"),)).with_fields([DRAW])


def encode(folder: Path) -> None:
    """Write the vectors that those of papers are made of, and those of the queries, into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    encoder = load_encoder(DEFAULT_MODEL, cache_dir=folder / "cache")
    texts = [encoder.card.text(row["title"], row["abstract"] or "") for row in pubmed_rows()[:ENCODED]]
    np.save(folder / "papers.npy", encoder.encode(texts))
    np.save(folder / "queries.npy", encoder.encode(claims(QUERIES), Format.QRY))


def known_queries(folder: Path) -> list[tuple[str, np.ndarray]]:
    """The queries, each with its vector, (384,)."""
    vectors = np.load(folder / "queries.npy")
    return list(zip(claims(len(vectors)), vectors, strict=True))


def documents(folder: Path, count: int, seed: int = 0) -> Iterator[Document]:
    """Make a number of papers; another seed gives the same ids other texts and vectors."""
    rows, vectors = pubmed_rows(), np.load(folder / "papers.npy")
    draw = random.Random(seed)
    vocabulary = [word for row in rows[:2_000] for word in (row["abstract"] or "").split()]

    def changed(text: str) -> str:
        return " ".join(draw.choice(vocabulary) if draw.random() < 1 / REPLACED else word for word in text.split())

    for number in range(count):
        row = rows[number % len(rows)]
        vector = vectors[number % len(vectors)] + draw.uniform(0, MOST_MOVED) * draw.choice(vectors)
        year = int(row["year"] or 0) or None
        paper = Paper(
            str(number),
            changed(row["title"]) or "untitled",
            changed(row["abstract"] or ""),
            venue=row["journal"],
            year=year,
            extra={"draw": draw.random()},
        )
        unit = (vector / np.linalg.norm(vector)).astype(np.float32)
        yield Document(paper, paper.content_hash(), {"prx": unit})


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
