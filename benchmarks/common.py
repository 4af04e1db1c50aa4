"""Helpers that the benchmarks share."""

from __future__ import annotations

import json
import lzma
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from types import SimpleNamespace

import numpy as np

from corpora.paper import Paper
from encoders.models.formats import Format
from search_plugin.contract.engine import Document, Index
from search_plugin.contract.schema import IndexSchema, paper_vector
from search_plugin.engines.registry import connect


def data_dir() -> Path:
    """The folder of real papers that SES_TEST_DATA names. The benchmark ends if it is not set."""
    folder = os.environ.get("SES_TEST_DATA")
    if not folder:
        sys.exit("Set SES_TEST_DATA to the folder of real papers, with eval/scifact and train/pubmed.jsonl.xz in it.")
    return Path(folder)


def pubmed_rows() -> list[dict[str, str]]:
    """Read PubMed's papers."""
    with lzma.open(data_dir() / "train" / "pubmed.jsonl.xz", "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def claims(count: int) -> list[str]:
    """Read the first of SciFact's claims, which serve as queries."""
    with (data_dir() / "eval" / "scifact" / "queries.jsonl").open(encoding="utf-8") as file:
        return [json.loads(line)["text"] for line in islice(file, count)]


class Remembered:
    """An encoder with known vectors, float32 (dimension,) by text, so that encoding is not timed.

    A query whose words were corrected is not among them. It gets the first one's vector: times do not depend on it.
    """

    def __init__(self, index: Index, vectors: Mapping[str, np.ndarray]) -> None:
        made_by = index.schema.fingerprint
        self.card = SimpleNamespace(name=index.schema.model, fingerprint=made_by, papers_by="")
        self._vectors = vectors

    def encode(self, texts: Sequence[str], _: Format) -> np.ndarray:
        """The vector of the only text."""
        return self._vectors.get(texts[0], next(iter(self._vectors.values())))[None]


def seconds(work: Callable[[], object]) -> float:
    """Time one call."""
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def interleaved(contenders: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Run all contenders in turn for some rounds, and return the median seconds of each.

    Taking turns spreads other
    load of the machine over all of them.
    """
    taken: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, work in contenders.items():
            taken[name].append(seconds(work))
    return {name: statistics.median(values) for name, values in taken.items()}


def percentile(values: Sequence[float], share: float) -> float:
    """The quantile of some values: a share of them does not exceed it."""
    return sorted(values)[min(int(share * len(values)), len(values) - 1)]


def random_index(url: str, size: int, model: str = "none", fingerprint: str = "none", dimension: int = 384) -> Index:
    """Write a number of PubMed's papers with random vectors into an index, without finishing it."""
    schema = IndexSchema(model, fingerprint, (paper_vector("prx", dimension, "cosine"),))
    index = connect(url).build("papers", schema, "benchmark")
    documents = random_documents(size, schema)
    while batch := list(islice(documents, 2_000)):
        index.upsert(batch)
    return index


def random_documents(size: int, schema: IndexSchema) -> Iterator[Document]:
    """Make a number of PubMed's papers, repeated if there are not enough, with random unit vectors.

    Encoding 33,000 papers takes ten minutes, and the cost of an index depends on the number of vectors, not on their
    meaning.
    """
    draw = np.random.default_rng(0)
    rows = pubmed_rows()
    for number in range(size):
        row = rows[number % len(rows)]
        year = int(row["year"] or 0) or None
        paper = Paper(str(number), row["title"], row["abstract"] or "", venue=row["journal"], year=year)
        vectors = {field.format: _unit(draw.standard_normal(field.dimension)) for field in schema.vectors}
        yield Document(paper, paper.content_hash(), vectors)


def _unit(vector: np.ndarray) -> np.ndarray:
    return (vector / np.linalg.norm(vector)).astype(np.float32)
