"""A cluster with a million papers: loading, disk, memory, pages, filters, recall, updates and a swap under load.

Papers and queries are those of `benchmarks.altered`. The vector leg is compared with all vectors, by numpy. Pages are
hybrid unless it says otherwise, by one client, whose queries have vectors already, after hundreds of pages of other
queries: Java compiles what it runs often. FOLDER keeps the figures, and what does not depend on the cluster. Each step
is a process. A stopped run resumes, and an existing index is only measured; its name is `papers-PAPERS-QUANTIZATION`.
The table has all clusters that were measured to the end at that size. A STEP alone is repeated. The cluster should hold
nothing else. Needs SES_TEST_DATA.
Run: python -m benchmarks.million_clusters [STEP] FOLDER PAPERS URL [QUANTIZATION]
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import cycle, islice
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
import orjson

from benchmarks.altered import QUERIES, SCHEMA, documents, encode, known_queries, page_times, times
from benchmarks.common import Remembered, claims, percentile, seconds
from corpora.errors import SesError
from corpora.writing import replacing
from search_plugin.contract.connection import Connection
from search_plugin.contract.engine import Document, Index
from search_plugin.contract.plan import Plan, VectorClause
from search_plugin.contract.schema import Quantization
from search_plugin.engines.cluster.engine import ClusterEngine
from search_plugin.engines.cluster.index import ClusterIndex
from search_plugin.filters.parse import parse_filter
from search_plugin.request import SearchRequest
from search_plugin.search import search

BATCH = 3_072
"""Papers that `ses index` writes together: six blocks of 512."""
WINDOW, DEPTH, WARMING = 100, 10, 600
SHARES = (1, 0.5, 0.05, 0.005, 0.0005)
ONE_IN = 100
"""One paper in so many is updated."""
SMALL, SWAPS, CLIENTS = 1_000, 6, 2
TIMEOUT = 300.0


@dataclass(frozen=True, slots=True)
class Run:
    """What is measured, and the folder that keeps the figures."""

    folder: Path
    count: int
    url: str
    quantization: Quantization

    @property
    def name(self) -> str:
        """The name of the index."""
        return f"papers-{self.count}-{self.quantization}"

    def connect(self) -> ClusterEngine:
        """Connect to the cluster; other work of its machine does not end a run of hours."""
        return ClusterEngine(self.url, Connection(timeout=TIMEOUT))

    @property
    def small(self) -> str:
        """The name of the small index, whose versions are swapped."""
        return f"{self.name}-swapped"

    @property
    def answers(self) -> Path:
        """The file of the nearest papers, as `nearest` returns them."""
        return self.folder / f"nearest-{self.count}.npy"


def main() -> None:
    words = sys.argv[1:]
    step = words.pop(0) if words[0] in STEPS else ""
    folder, count, url, quantization = (*words, "int8")[:4]
    run = Run(Path(folder).absolute(), int(count), url, cast("Quantization", quantization))
    if step:
        STEPS[step](run)
        return
    for name in STEPS:
        command = [sys.executable, "-m", "benchmarks.million_clusters", name, str(run.folder), count, url, quantization]
        subprocess.run(command, check=True)
    measured = [orjson.loads(path.read_bytes()) for path in sorted(run.folder.glob(f"figures-{run.count}-*.json"))]
    print(table([figures for figures in measured if "swapped" in figures]))


def encoding(run: Run) -> None:
    if not (run.folder / "queries.npy").exists():
        encode(run.folder)


def answering(run: Run) -> None:
    if run.answers.exists():
        return
    asked = np.stack([vector for _, vector in known_queries(run.folder)])
    with replacing(run.answers) as path, path.open("wb") as file:
        np.save(file, nearest(documents(run.folder, run.count), asked))


def nearest(source: Iterator[Document], asked: np.ndarray) -> np.ndarray:
    """Find the nearest papers of queries, (queries, dimension), among all papers and those that each filter passes.

    Returns their numbers in the source in any order, (shares, queries, depth), with -1 where there are fewer.
    """
    best = np.full((len(SHARES), len(asked), DEPTH), -np.inf, np.float32)
    numbers, start = np.full(best.shape, -1), 0
    while batch := list(islice(source, BATCH)):
        scores = asked @ np.stack([document.vectors["prx"] for document in batch]).T
        draws = np.array([document.paper.extra["draw"] for document in batch])
        rows = np.broadcast_to(np.arange(start, start + len(batch)), scores.shape)
        for at, share in enumerate(SHARES):
            there = np.concatenate([best[at], np.where(draws < share, scores, -np.inf)], axis=1)
            first = np.argpartition(-there, DEPTH, axis=1)[:, :DEPTH]
            best[at] = np.take_along_axis(there, first, 1)
            numbers[at] = np.take_along_axis(np.concatenate([numbers[at], rows], axis=1), first, 1)
        start += len(batch)
    return np.where(np.isfinite(best), numbers, -1)


def loading(run: Run) -> None:
    engine = run.connect()
    if run.name in engine.names():
        return
    with engine.lock(run.name):
        index = engine.build(run.name, replace(SCHEMA, quantization=run.quantization), "benchmark")
        # All batches before the last one are whole, since each is durable before the next one is written.
        start = index.count() // BATCH * BATCH
        before = kept(run, engine) if start else {}
        timed, spent = before.get("timed", 0), before.get("writing", 0.0)
        source = islice(documents(run.folder, run.count), start, None)
        while batch := list(islice(source, BATCH)):
            spent += seconds(lambda batch=batch: _write(index, batch))
            timed += len(batch)
            keep(run, engine, timed=timed, writing=spent)
        keep(run, engine, merging=seconds(lambda: finish_merging(index)))
        engine.publish(index)


def measuring(run: Run) -> None:
    engine = run.connect()
    index, queries, answers = engine.open(run.name), known_queries(run.folder), np.load(run.answers)
    keep(run, engine, disk=index.disk_bytes(), files=vector_files(index))
    others = claims(QUERIES + WARMING)[QUERIES:]
    page_times(index, list(zip(others, cycle(vector for _, vector in queries), strict=False)))
    pages: dict[str, list[float]] = {}
    recalls: dict[str, float] = {}
    used: list[int] = []

    def timed(name: str, taken: Sequence[float]) -> None:
        pages[name] = _quantiles(taken)
        print(name, *pages[name], flush=True)
        used.append(sum(heaps(engine)))

    timed("page", page_times(index, queries))
    timed("page with two facets", page_times(index, queries, facets=("journal", "year")))
    timed("page by words", page_times(index, queries, mode="lexical"))
    timed("page by vectors", page_times(index, queries, mode="vector"))
    plans = [Plan("", (VectorClause("prx", vector),), None, WINDOW) for _, vector in queries]
    timed("vector leg", times([lambda plan=plan: index.search(plan) for plan in plans]))
    for share, right in zip(SHARES, answers, strict=True):
        where = parse_filter(f"draw<{share}", index.schema.fields) if share < 1 else None
        if where:
            timed(f"page of {100 * share:g} % of the papers", page_times(index, queries, where))
        found = [index.search(replace(plan, filter=where))["prx"][:DEPTH] for plan in plans]
        recalls[f"{100 * share:g} % of the papers"] = recall(right, [[int(hit.id) for hit in hits] for hits in found])
    keep(run, engine, pages=pages, recalls=recalls, heap=min(used), outside=reported_memory(index))


def updating(run: Run) -> None:
    """Write one paper in a hundred again and again, until every query was asked meanwhile."""
    engine, writer = run.connect(), run.connect()
    changed = list(islice(documents(run.folder, run.count), run.count // ONE_IN))
    rates: list[float] = []
    with ThreadPoolExecutor(1) as pool, writer.lock(run.name):
        index = writer.open(run.name)
        asked = pool.submit(page_times, engine.open(run.name), known_queries(run.folder))
        while not asked.done():
            spent = seconds(lambda: [_write(index, changed[at : at + BATCH]) for at in range(0, len(changed), BATCH)])
            rates.append(len(changed) / (spent + seconds(index.finish)))
    keep(run, engine, updated=percentile(rates, 0.5), meanwhile=_quantiles(asked.result()))


class Swaps(NamedTuple):
    """The numbers of the versions whose publishing has begun, and of those that are published."""

    begun: list[int]
    done: list[int]


def swapping(run: Run) -> None:
    """Publish new versions of a small index while clients search, and compare each page with what it has to be."""
    engine, queries = run.connect(), known_queries(run.folder)
    versions = [list(documents(run.folder, SMALL, seed)) for seed in (0, 1)]
    expected: list[list[Any]] = []
    swaps, ended = Swaps([], []), threading.Event()
    for number, version in enumerate(versions):
        _publish(run, version, number, swaps)
        expected.append([_shown(engine, run, *query) for query in queries])

    def client() -> Counter[str]:
        own, seen = run.connect(), Counter[str]()
        asked = cycle(enumerate(queries))
        while not ended.is_set():
            at, query = next(asked)
            published = swaps.done[-1]
            try:
                page = _shown(own, run, *query)
            except SesError:
                seen["errors"] += 1
                continue
            seen["pages"] += 1
            seen["wrong"] += page not in [expected[n % 2][at] for n in range(published, swaps.begun[-1] + 1)]
        return seen

    with ThreadPoolExecutor(CLIENTS) as pool:
        clients = [pool.submit(client) for _ in range(CLIENTS)]
        try:
            for number in range(2, 2 + SWAPS):
                _publish(run, versions[number % 2], number, swaps)
        finally:
            ended.set()
    seen = sum((one.result() for one in clients), Counter[str]())
    engine.drop(run.small)
    keep(run, engine, swapped={name: seen[name] for name in ("pages", "errors", "wrong")})


def _publish(run: Run, version: Sequence[Document], number: int, swaps: Swaps) -> None:
    """Write and publish a new version of the small index, as `ses index --fresh` does."""
    engine = run.connect()
    with engine.lock(run.small):
        index = engine.build(run.small, replace(SCHEMA, quantization=run.quantization), "benchmark")
        _write(index, version)
        index.finish()
        swaps.begun.append(number)
        engine.publish(index)
        swaps.done.append(number)


def _shown(engine: ClusterEngine, run: Run, text: str, vector: np.ndarray) -> list[tuple[str, str, float]]:
    """Return each hit of a page of the small index; exact, since two graphs of the same papers may differ."""
    index = engine.open(run.small)
    page = search(index, SearchRequest(text, exact=True), Remembered(index, {text: vector}))
    return [(hit.paper.id, hit.paper.title, round(hit.score, 4)) for hit in page.hits]


def _write(index: Index, batch: Sequence[Document]) -> None:
    if refused := index.upsert(batch):
        sys.exit(f"The cluster refuses {len(refused):,} papers: {refused[0].reason}")


def recall(right: np.ndarray, found: Sequence[Sequence[int]]) -> float:
    """Return which share of the right papers, (queries, depth) with -1 where there are fewer, was found."""
    there = sum(len({*row} & {*numbers}) for row, numbers in zip(right.tolist(), found, strict=True))
    return there / max(int((right >= 0).sum()), 1)


def reported_memory(index: ClusterIndex) -> dict[str, int]:
    """Return the bytes that the vectors take outside the heap as the cluster reports them, by library or kind of file.

    OpenSearch reports those of faiss only: what Lucene maps are the files themselves.
    """
    if index.cluster.product.kind == "opensearch":
        nodes = index.cluster.call("GET", "/_plugins/_knn/stats/graph_memory_usage")["nodes"].values()
        return {"faiss": 1024 * sum(node["graph_memory_usage"] for node in nodes)}
    held = index.cluster.call("GET", f"/{index.physical}/_stats/dense_vector")["_all"]["primaries"]["dense_vector"]
    return {name: size for name, size in held.get("off_heap", {}).items() if isinstance(size, int)}


def keep(run: Run, engine: ClusterEngine, **found: Any) -> None:
    """Keep some figures of a run, and print them."""
    print(json.dumps(found), flush=True)
    cluster = f"{engine.cluster.product.name}, {run.quantization}"
    with replacing(_figures(run, engine)) as path:
        path.write_bytes(orjson.dumps({"cluster": cluster, "papers": run.count, **kept(run, engine), **found}))


def kept(run: Run, engine: ClusterEngine) -> dict[str, Any]:
    """Return the figures of a run so far."""
    path = _figures(run, engine)
    return dict(orjson.loads(path.read_bytes())) if path.exists() else {}


def _figures(run: Run, engine: ClusterEngine) -> Path:
    product = engine.cluster.product
    return run.folder / f"figures-{run.count}-{product.kind}-{product.number}-{run.quantization}.json"


def _quantiles(taken: Sequence[float]) -> list[float]:
    return [round(percentile(taken, share), 1) for share in (0.5, 0.99)]


def table(clusters: Sequence[Mapping[str, Any]]) -> str:
    """Return the figures of some clusters as a table in Markdown, with a column for each cluster."""
    columns = [dict(_rows(figures)) for figures in clusters]
    labels = dict.fromkeys(label for column in columns for label in column)
    lines = [["", *(figures["cluster"] for figures in clusters)], ["---"] * (1 + len(clusters))]
    lines += [[label, *(column.get(label, "") for column in columns)] for label in labels]
    return "\n".join(f"| {' | '.join(line)} |".replace("|  |", "| |") for line in lines)


def _rows(figures: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the label and the text of each figure."""
    count = figures["papers"]
    # A batch that a run was stopped in has no time.
    written = figures["timed"] / figures["writing"]
    yield "papers written in a second", f"{written:,.0f}"
    yield "papers a second, until they are merged", f"{count / (count / written + figures['merging']):,.0f}"
    yield "seconds of merging", f"{figures['merging']:,.0f}"
    yield "segments", f"{figures['files']['segments']}"
    yield "disk, MiB", _mebibytes(figures["disk"])
    # Small segments of Elasticsearch are files of all kinds in one, which are 0 here.
    yield "of that whole vectors, MiB", _mebibytes(figures["files"]["whole_vectors"])
    yield "graphs and quantized vectors, MiB", _mebibytes(figures["files"]["graphs"])
    yield "heap in use, MiB", _mebibytes(figures["heap"])
    outside = {
        name.removesuffix("_size_bytes").removeprefix("total_"): _mebibytes(size)
        for name, size in figures["outside"].items()
        if size
    }
    yield "outside the heap as reported, MiB", ", ".join(f"{name} {size}" for name, size in outside.items()) or "0"
    for what, share in figures["recalls"].items():
        yield f"recall@{DEPTH} of {what}", f"{share:.3f}"
    for what, (middle, slow) in figures["pages"].items():
        yield f"{what}: p50, p99, ms", f"{middle}, {slow}"
    yield "page while one paper in a hundred is updated: p50, p99, ms", ", ".join(map(str, figures["meanwhile"]))
    yield "papers updated in a second", f"{figures['updated']:,.0f}"
    seen = figures["swapped"]
    yield f"pages during {SWAPS} swaps: all, errors, wrong", f"{seen['pages']}, {seen['errors']}, {seen['wrong']}"


def _mebibytes(size: int) -> str:
    return f"{size / 2**20:,.0f}"


STEPS: dict[str, Callable[[Run], None]] = {
    step.__name__: step for step in (encoding, answering, loading, measuring, updating, swapping)
}


def finish_merging(index: Index) -> None:
    """Finish an index, and wait until a cluster has merged it."""
    index.finish()
    if cluster := getattr(index, "cluster", None):
        # The task of a merge is there before its first part begins, and between two of its parts.
        while (
            cluster.call("GET", "/_tasks", params={"actions": "*forcemerge*"})["nodes"]
            or cluster.call("GET", f"/{index.physical}/_stats/merge")["_all"]["total"]["merges"]["current"]
        ):
            time.sleep(0.2)
        index.finish()
        cluster.call("POST", f"/{index.physical}/_flush")


def vector_files(index: Any) -> dict[str, Any]:
    """Return the bytes of a cluster's files of vectors, and of graphs and smaller vectors, and the segments."""
    path = f"/{index.physical}/_stats/segments?include_segment_file_sizes=true"
    segments = index.cluster.call("GET", path)["_all"]["total"]["segments"]
    sizes = {name: file["size_in_bytes"] for name, file in segments["file_sizes"].items()}
    small = sum(sizes.get(name, 0) for name in ("vex", "veq", "veb"))
    return {"segments": segments["count"], "whole_vectors": sizes.get("vec", 0), "graphs": small}


def heaps(engine: Any) -> list[int]:
    """Return the bytes that a cluster's heaps hold."""
    nodes = engine.cluster.call("GET", "/_nodes/stats/jvm")["nodes"].values() if hasattr(engine, "cluster") else ()
    return [node["jvm"]["mem"]["heap_used_in_bytes"] for node in nodes]


if __name__ == "__main__":
    main()
