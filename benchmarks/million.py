"""The embedded engine with a million papers: pages, filters, recall, memory, opening, updates; beside its bare parts.

Papers and queries are those of `benchmarks.altered`. FOLDER keeps the index, so a second call only measures. Loading,
finishing and measuring are processes of their own. Needs SES_TEST_DATA.
Run: python -m benchmarks.million FOLDER [PAPERS]
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path

import numpy as np

from benchmarks.altered import SCHEMA, documents, encode, known_queries, page_times, times
from benchmarks.common import percentile, seconds
from search_plugin.contract.engine import Index
from search_plugin.contract.plan import Plan, VectorClause
from search_plugin.contract.tree import Filter
from search_plugin.engines.embedded.queries import ranking
from search_plugin.engines.embedded.vectors import read_lists
from search_plugin.engines.registry import connect
from search_plugin.filters.parse import parse_filter

BATCH = 4_000
SHARES = (0.9, 0.5, 0.05, 0.005, 0.0001)


def main() -> None:
    if sys.argv[1] in STEPS:
        STEPS[sys.argv[1]](Path(sys.argv[2]), int(sys.argv[3]))
        return
    folder, count = Path(sys.argv[1]).absolute(), int(sys.argv[2]) if len(sys.argv) > 2 else 1_000_000
    done = (folder / "indexes" / "papers.json").exists()
    for step in ("opening", "measuring") if done else STEPS:
        subprocess.run([sys.executable, "-m", "benchmarks.million", step, str(folder), str(count)], check=True)


def encoding(folder: Path, _: int) -> None:
    encode(folder)


def loading(folder: Path, count: int) -> None:
    index = connect(_url(folder)).build("papers", SCHEMA, "benchmark")
    source = documents(folder, count)
    taken = 0.0
    while batch := list(islice(source, BATCH)):
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


def measuring(folder: Path, _: int) -> None:
    index = connect(_url(folder)).open("papers")
    queries = known_queries(folder)
    page_times(index, queries)  # what is measured has its files in memory
    whole = _pages(index, queries, None)
    _pages(index, queries, None, facets=("journal", "year"))
    _pages(index, queries, None, mode="lexical")
    _pages(index, queries, None, mode="vector")
    _bare(index, queries)
    print(f"recall@10 of the vector leg {_recall(index, queries, None):.3f}", flush=True)
    print(f"memory of this process: {_memory('RssAnon')} MiB and {_memory('RssFile')} MiB of mapped files", flush=True)
    for share in SHARES:
        where = parse_filter(f"draw<{share}", index.schema.fields)
        ratio = _pages(index, queries, where) / whole
        recall = _recall(index, queries, where)
        print(f"  of {share:.2%}: {ratio:.2f}x the page without a filter, recall@10 {recall:.3f}", flush=True)
    _update(index, folder)


def _pages(index: Index, queries: Sequence[tuple[str, np.ndarray]], where: Filter | None, **options: object) -> float:
    """Print and return the median milliseconds of a page, whose query is already encoded."""
    taken = page_times(index, queries, where, **options)
    label = ", ".join([*map(str, options.values()), *(["filtered"] if where else [])])
    print(f"page {label:28} p50 {percentile(taken, 0.5):6.1f} ms  p99 {percentile(taken, 0.99):6.1f} ms", flush=True)
    return percentile(taken, 0.5)


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
        "bare faiss, top 500": [lambda v=v: lists.search(v, 500, params=parameters) for _, v in asked],
    }
    for name, calls in parts.items():
        taken = times(calls)
        print(f"{name:33} p50 {percentile(taken, 0.5):6.1f} ms  p99 {percentile(taken, 0.99):6.1f} ms", flush=True)


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
    changed = list(islice(documents(folder, 10_000, seed=1), 100))

    def update() -> None:
        index.upsert(changed)
        index.search(Plan(changed[0].paper.title, (), None, 10))

    print(f"100 papers updated and visible in {1000 * seconds(update):.0f} ms", flush=True)


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
