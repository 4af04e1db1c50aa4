"""What sparse vectors cost: time of the leg and bytes per paper, embedded or in a cluster, with random weights.

Run: python -m benchmarks.sparse [PAPERS] [TOKENS] [URL ...]

Tokens are drawn by Zipf's law over BERT's vocabulary, as frequent ones are in learned sparse vectors too. Each engine
gets the same papers and 100 queries of 32 tokens.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import islice

import numpy as np

from benchmarks.common import percentile, seconds
from corpora.paper import Paper
from encoders.sparse import rounded
from search_plugin.contract.engine import Document, Index
from search_plugin.contract.plan import Plan, VectorClause
from search_plugin.contract.schema import IndexSchema, paper_vector, sparse_field
from search_plugin.engines.registry import connect

VOCABULARY, QUERIES, ASKED, WINDOW = 30_522, 100, 32, 100
SCHEMAS = {
    name: IndexSchema("none", "none", (paper_vector("prx", 4, "cosine"),), sparse=fields)
    for name, fields in {"without": (), "with": (sparse_field(VOCABULARY, "none", "none"),)}.items()
}


def main() -> None:
    """Print a line for each engine."""
    count, tokens, *urls = [*sys.argv[1:], *("33000", "150")[max(len(sys.argv) - 1, 0) :]]
    draw = np.random.default_rng(1)
    queries = [_vector(draw, ASKED) for _ in range(QUERIES)]
    with tempfile.TemporaryDirectory() as folder:
        for url in urls or [f"embedded:{folder}"]:
            _measure(url, int(count), int(tokens), queries)


def _measure(url: str, count: int, tokens: int, queries: list[np.ndarray]) -> None:
    engine, sizes = connect(url), {}
    for name, schema in SCHEMAS.items():
        index = engine.build(f"eval-sparse-{name}", schema, "benchmark")
        documents = _documents(count, tokens)
        taken = seconds(lambda index=index, documents=documents: _fill(index, documents))
        sizes[name] = index.disk_bytes()
    plans = [Plan("", (VectorClause("sparse", query),), None, WINDOW) for query in queries]
    index.search(plans[0])
    begun = time.process_time()
    times = [seconds(lambda plan=plan: index.search(plan)) * 1000 for plan in plans]
    spent = (time.process_time() - begun) * 1000 / len(plans)
    print(
        f"{url.partition(':')[0]}: {count:,} papers of {tokens} tokens, {len(queries)} queries of {ASKED}: "
        f"p50 {percentile(times, 0.5):.1f} ms, p95 {percentile(times, 0.95):.1f} ms, {spent:.1f} ms of this process; "
        f"{(sizes['with'] - sizes['without']) / count:,.0f} bytes a paper; written in {taken:.0f} s"
    )
    for name in SCHEMAS:
        engine.drop(f"eval-sparse-{name}")


def _fill(index: Index, documents: Iterator[Document]) -> None:
    while batch := list(islice(documents, 2_000)):
        index.upsert(batch)
    index.finish()


def _documents(count: int, tokens: int) -> Iterator[Document]:
    draw = np.random.default_rng(0)
    for number in range(count):
        vectors = {"prx": np.ones(4, np.float32), "sparse": _vector(draw, tokens)}
        yield Document(Paper(str(number), "title"), str(number), vectors)


def _vector(draw: np.random.Generator, tokens: int) -> np.ndarray:
    """A sparse vector of about so many tokens: of those drawn twice, one is left."""
    ids = np.unique((draw.zipf(1.2, 2 * tokens) * 7919) % VOCABULARY)
    ids = np.sort(draw.permutation(ids)[:tokens])
    return rounded(np.stack([ids, draw.gamma(1.0, 0.5, len(ids)) + 0.01], axis=1).astype(np.float32))


if __name__ == "__main__":
    main()
