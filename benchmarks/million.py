"""The embedded engine with a million papers: pages, filters, recall, memory, opening, updates; beside its bare parts.

Texts are PubMed's, repeated, with one word in six replaced by a word of another paper. A vector is that of
one of PubMed's first papers by the default model, moved towards that of another one by a random amount. Queries are
SciFact's claims. FOLDER keeps the index, so a second call only measures. Loading, finishing and measuring are processes
of their own. Needs SES_TEST_DATA.
Run: python -m benchmarks.million FOLDER [PAPERS]
"""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path

import numpy as np

from benchmarks.common import Remembered, claims, percentile, pubmed_rows, seconds
from corpora.paper import Paper
from encoders.encoder import load_encoder
from encoders.models.formats import Format
from encoders.registry import DEFAULT_MODEL
from search_plugin.contract.engine import Document, Index
from search_plugin.contract.plan import Plan, VectorClause
from search_plugin.contract.schema import Field, IndexSchema, paper_vector
from search_plugin.contract.tree import Filter
from search_plugin.engines.embedded.queries import ranking
from search_plugin.engines.embedded.vectors import read_lists
from search_plugin.engines.registry import connect
from search_plugin.filters.parse import parse_filter
from search_plugin.request import SearchRequest
from search_plugin.search import search

ENCODED, QUERIES, BATCH = 8_000, 200, 4_000
REPLACED, MOST_MOVED = 6, 0.6
SHARES = (0.9, 0.5, 0.05, 0.005, 0.0001)
FIELD = Field("draw", "number", facet=False, origin="custom")
"""A number from 0 to 1, by which a filter lets a share of the papers pass."""


def main() -> None:
    if sys.argv[1] in STEPS:
        STEPS[sys.argv[1]](Path(sys.argv[2]), int(sys.argv[3]))
        return
    folder, count = Path(sys.argv[1]).absolute(), int(sys.argv[2]) if len(sys.argv) > 2 else 1_000_000
    done = (folder / "indexes" / "papers.json").exists()
    for step in ("opening", "measuring") if done else STEPS:
        subprocess.run([sys.executable, "-m", "benchmarks.million", step, str(folder), str(count)], check=True)


def encoding(folder: Path, _: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    encoder = load_encoder(DEFAULT_MODEL, cache_dir=folder / "cache")
    texts = [encoder.card.text(row["title"], row["abstract"] or "") for row in pubmed_rows()[:ENCODED]]
    np.save(folder / "papers.npy", encoder.encode(texts))
    np.save(folder / "queries.npy", encoder.encode(claims(QUERIES), Format.QRY))


def loading(folder: Path, count: int) -> None:
    schema = IndexSchema("none", "none", (paper_vector("prx", 384, "cosine"),)).with_fields([FIELD])
    index = connect(_url(folder)).build("papers", schema, "benchmark")
    documents = _documents(folder, count)
    taken = 0.0
    while batch := list(islice(documents, BATCH)):
        taken += seconds(lambda batch=batch: index.upsert(batch))
    print(f"{count:,} papers written in {taken:.0f} s, peak memory {_memory('VmHWM')} MiB", flush=True)


def finishing(folder: Path, _: int) -> None:
    engine = connect(_url(folder))
    index = engine.generation("papers", 1)
    taken = seconds(index.finish)
    engine.publish(index)
    print(f"finished in {taken:.0f} s, peak memory {_memory('VmHWM')} MiB", flush=True)


def opening(folder: Path, _: int) -> None:
    import faiss  # noqa: F401 - imports are not what is measured
    import tantivy  # noqa: F401

    engine = connect(_url(folder))
    opened: list[Index] = []
    print(f"opened in {1000 * seconds(lambda: opened.append(engine.open('papers'))):.0f} ms", flush=True)
    plan = Plan("virus", (VectorClause("prx", np.load(folder / "queries.npy")[0]),), None, 100)
    print(f"first search {1000 * seconds(lambda: opened[0].search(plan)):.0f} ms", flush=True)


def measuring(folder: Path, count: int) -> None:
    index = connect(_url(folder)).open("papers")
    queries = list(zip(claims(QUERIES), np.load(folder / "queries.npy"), strict=True))
    whole = _pages(index, queries, None)
    _pages(index, queries, None, facets=("journal", "year"))
    _pages(index, queries, None, mode="lexical")
    _pages(index, queries, None, mode="vector")
    _bare(index, queries)
    print(f"recall@10 of the vector leg {_recall(index, queries, None):.3f}", flush=True)
    print(
        f"memory of this process: {_memory('RssAnon')} MiB and {_memory('RssFile')} MiB of mapped files; "
        f"8-bit vectors {count * 384 >> 20} MiB",
        flush=True,
    )
    for share in SHARES:
        where = parse_filter(f"draw<{share}", index.schema.fields)
        ratio = _pages(index, queries, where) / whole
        recall = _recall(index, queries, where)
        print(f"  of {share:.2%}: {ratio:.2f}x the page without a filter, recall@10 {recall:.3f}", flush=True)
    _update(index, folder)


def _pages(index: Index, queries: Sequence[tuple[str, np.ndarray]], where: Filter | None, **options: object) -> float:
    """Print and return the median milliseconds of a page, whose query is already encoded."""
    encoder = Remembered(index, dict(queries))
    times = _times(
        [
            lambda query=query: search(index, SearchRequest(query, filter=where, **options), encoder)
            for query, _ in queries
        ]
    )
    label = ", ".join([*map(str, options.values()), *(["filtered"] if where else [])])
    print(f"page {label:28} p50 {percentile(times, 0.5):6.1f} ms  p99 {percentile(times, 0.99):6.1f} ms", flush=True)
    return percentile(times, 0.5)


def _bare(index: Index, queries: Sequence[tuple[str, np.ndarray]]) -> None:
    """Print the milliseconds of the two libraries alone: the same lexical query, and the same candidates."""
    import faiss

    words, snapshot = index._words, index._snapshot()
    lists = snapshot.approximate("vector_prx").index
    plans = [Plan(text, (), None, 0) for text, _ in queries]
    asked = [
        (ranking(words, snapshot.searcher, plan)[0], vector[None])
        for plan, (_, vector) in zip(plans, queries, strict=True)
    ]
    parameters = faiss.SearchParametersIVF(nprobe=read_lists(lists.nlist))
    parts: dict[str, list[Callable[[], object]]] = {
        "bare tantivy, top 100": [lambda q=q: snapshot.searcher.search(q, 100, count=False) for q, _ in asked],
        "bare faiss, top 200": [lambda v=v: lists.search(v, 200, params=parameters) for _, v in asked],
    }
    for name, calls in parts.items():
        times = _times(calls)
        print(f"{name:33} p50 {percentile(times, 0.5):6.1f} ms  p99 {percentile(times, 0.99):6.1f} ms", flush=True)


def _recall(index: Index, queries: Sequence[tuple[str, np.ndarray]], where: Filter | None) -> float:
    """Return which share of the exact ten nearest papers is found among the ten nearest."""
    found, there = 0, 0
    for _, vector in queries:
        both = [
            {hit.id for hit in index.search(Plan("", (VectorClause("prx", vector),), where, 100, exact))["prx"][:10]}
            for exact in (False, True)
        ]
        found, there = found + len(both[0] & both[1]), there + len(both[1])
    return found / there


def _update(index: Index, folder: Path) -> None:
    """Print how long it takes until 100 changed papers are found."""
    changed = list(islice(_documents(folder, 10_000, seed=1), 100))

    def update() -> None:
        index.upsert(changed)
        index.search(Plan(changed[0].paper.title, (), None, 10))

    print(f"100 papers updated and visible in {1000 * seconds(update):.0f} ms", flush=True)


def _documents(folder: Path, count: int, seed: int = 0) -> Iterator[Document]:
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


def _times(calls: Sequence[Callable[[], object]]) -> list[float]:
    """Return the milliseconds of each call, after a warm-up."""
    for call in calls[:20]:
        call()
    return [1000 * seconds(call) for call in calls]


def _memory(what: str) -> int:
    """Return a figure of this process in MiB, as Linux reports it."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) >> 10 for line in lines if line.startswith(f"{what}:"))


def _url(folder: Path) -> str:
    return f"embedded:{folder / 'indexes'}"


STEPS: dict[str, Callable[[Path, int], None]] = {
    step.__name__: step for step in (encoding, loading, finishing, opening, measuring)
}


if __name__ == "__main__":
    main()
