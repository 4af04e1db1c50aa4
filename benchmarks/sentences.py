"""What vectors of sentences cost: time and space of an index with them beside one without, in the same run.

PubMed's papers, each sentence of them with a random vector near that of its paper: the cost depends on the number of
vectors. Queries are SciFact's claims, whose vectors are computed in advance. Pages are asked for in turn. Targets at
33,000 papers: at most 1.8 times the time of a page and 2.5 times the space. Needs SES_TEST_DATA.
Run: python -m benchmarks.sentences [PAPERS] [ENGINE], such as http://HOST:9200; the embedded one without.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np

from benchmarks.common import Remembered, claims, percentile, random_documents
from encoders.encoder import load_encoder
from encoders.models.formats import Format
from encoders.registry import DEFAULT_MODEL
from search_plugin.contract.engine import Document, Engine, Index
from search_plugin.contract.schema import SENTENCES, IndexSchema, paper_vector, sentence_vectors
from search_plugin.engines.registry import connect
from search_plugin.request import SearchRequest
from search_plugin.search import search
from search_plugin.words.sentences import sentences_of

QUERIES, ROUNDS, BATCH = 200, 3, 1_000
APART = 1.0
"""Length of the random part of a sentence's vector, beside its paper's: a mean cosine of .71."""


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 33_000
    with tempfile.TemporaryDirectory() as folder:
        engine = connect(sys.argv[2] if len(sys.argv) > 2 else f"embedded:{folder}/indexes")
        encoder = load_encoder(DEFAULT_MODEL, cache_dir=Path(folder))
        queries = claims(QUERIES)
        vectors = dict(zip(queries, encoder.encode(queries, Format.QRY), strict=True))
        card = encoder.card
        papers = paper_vector("prx", card.dimension, card.similarity)
        both = {
            "without": IndexSchema(card.name, card.fingerprint, (papers,)),
            "with": IndexSchema(
                card.name, card.fingerprint, (papers, sentence_vectors(card.dimension, card.similarity))
            ),
        }
        indexes = {name: built(engine, name, schema, count) for name, schema in both.items()}
        sizes = {name: index.disk_bytes() / count for name, index in indexes.items()}
        print(
            f"{count:,} papers, bytes a paper: {sizes['without']:,.0f} without, {sizes['with']:,.0f} with sentences: "
            f"{sizes['with'] / sizes['without']:.2f} times"
        )
        for name, options in (("hybrid", {}), ("filtered", {"filter": "year>=2015"}), ("exact", {"exact": True})):
            compare(name, indexes, queries[: 20 if name == "exact" else QUERIES], vectors, options)
        for name in indexes:
            engine.drop(name)


def built(engine: Engine, name: str, schema: IndexSchema, count: int) -> Index:
    """Return a published index of papers with random vectors."""
    index = engine.build(name, schema, "benchmark")
    documents = with_sentences(random_documents(count, schema), schema)
    begun = time.perf_counter()
    while batch := list(islice(documents, BATCH)):
        index.upsert(batch)
    index.finish()
    engine.publish(index)
    print(f"{name}: written in {time.perf_counter() - begun:.0f} s", flush=True)
    return engine.open(name)


def with_sentences(documents: Iterator[Document], schema: IndexSchema) -> Iterator[Document]:
    """Give each document a vector for each of its sentences, at random around its own."""
    draw = np.random.default_rng(1)
    for document in documents:
        if schema.passages == SENTENCES:
            own = document.vectors["prx"]
            places = sentences_of(document.paper.title, document.paper.abstract)
            noise = draw.standard_normal((len(places), len(own))).astype(np.float32)
            rows = own + APART * noise / np.linalg.norm(noise, axis=1, keepdims=True)
            document.vectors[SENTENCES] = rows / np.linalg.norm(rows, axis=1, keepdims=True)  # type: ignore[index]
        yield document


def compare(name: str, indexes: dict[str, Index], queries: list[str], vectors: dict, options: dict) -> None:
    """Print the time of a page with sentences and without, asked for in turn."""
    from search_plugin.filters.parse import parse_filter

    given = {**options, "filter": parse_filter(options["filter"])} if "filter" in options else options
    taken: dict[str, list[float]] = {one: [] for one in indexes}
    worked: dict[str, list[float]] = {one: [] for one in indexes}
    for round_ in range(ROUNDS + 1):
        for query in queries:
            for one, index in indexes.items():
                begun, working = time.perf_counter(), time.process_time()
                search(index, SearchRequest(query, **given), Remembered(index, vectors))
                if round_:  # the first one reads the files
                    taken[one].append(1000 * (time.perf_counter() - begun))
                    worked[one].append(1000 * (time.process_time() - working))
    medians = {one: statistics.median(times) for one, times in taken.items()}
    tails = {one: percentile(times, 0.95) for one, times in taken.items()}
    shares = {one: statistics.median(times) for one, times in worked.items()}
    print(
        f"  {name:9} page, p50 {medians['without']:6.2f} ms without, {medians['with']:6.2f} ms with: "
        f"{medians['with'] / medians['without']:.2f} times; p95 {tails['without']:.2f}, {tails['with']:.2f}; "
        f"processor {shares['without']:.2f}, {shares['with']:.2f} ms: {shares['with'] / shares['without']:.2f} times",
        flush=True,
    )


if __name__ == "__main__":
    main()
