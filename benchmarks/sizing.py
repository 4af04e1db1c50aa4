"""What an index takes, by its size: disk, the CPU of loading and of pages, and the times of pages; for `ses plan`.

Papers are PubMed's, repeated if there are not enough, with random vectors. ENGINE is `embedded`, or the URL of a
cluster, whose index `sizing` is made again and removed. Pages are hybrid, of SciFact's claims, by one client. CPU is
that of the client and of the cluster's nodes together. The fastest of five times of a claim is taken,
and the CPU of the best round of pages, because other work disturbs the others. Loading and searching are processes of
their own. It prints a point of `ses/planning/measured.toml`. Needs SES_TEST_DATA.
Run: python -m benchmarks.sizing ENGINE PAPERS [QUANTIZATION [FORMATS [DIMENSION]]]
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from itertools import islice
from typing import Any

import numpy as np

from benchmarks.common import Remembered, claims, random_documents, seconds
from encoders.runtimes.hardware import processor
from search_plugin.contract.engine import Index
from search_plugin.contract.plan import Plan, VectorClause
from search_plugin.contract.schema import IndexSchema, Quantization, paper_vector
from search_plugin.engines.registry import connect
from search_plugin.request import SearchRequest
from search_plugin.search import search

QUERIES, BATCH = 200, 2_000
FORMATS = ("prx", "clf", "rgn")
ROUNDS, WARMING = 5, 100


def main() -> None:
    if sys.argv[1] in STEPS:
        step, url, count, quantization, formats, dimension = sys.argv[1:]
        print(json.dumps(STEPS[step](url, int(count), quantization, int(formats), int(dimension))))
        return
    engine, count, *kind = sys.argv[1:]
    quantization, formats, dimension = (*kind, *("none", "1", "384")[len(kind) :])
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        url = f"embedded:{folder}" if engine == "embedded" else engine
        for step in STEPS:
            command = [sys.executable, "-m", "benchmarks.sizing", step, url, count, quantization, formats, dimension]
            found |= json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    version, notes = found.pop("version"), found.pop("notes") | found.pop("searched")
    point = {
        "product": found.pop("product"),
        "command": " ".join(["python -m benchmarks.sizing", "URL" if url == engine else engine, count, *kind]),
        "machine": f"{processor().cores} cores of {processor().name}" + (f", {version}" if version else ""),
        "papers": int(count),
        "quantization": quantization,
        "formats": int(formats),
        "dimension": int(dimension),
        **found,
    }
    print(f"\n[[index]]\ndate = {datetime.now(UTC).date()}")
    for name, value in point.items():
        print(f"{name} = {json.dumps(value)}", flush=True)
    print(f"# {notes}", flush=True)


def loading(url: str, count: int, quantization: Quantization, formats: int, dimension: int) -> dict[str, Any]:
    vectors = tuple(paper_vector(name, dimension, "cosine") for name in FORMATS[:formats])
    schema = IndexSchema("none", "none", vectors, quantization)
    engine = connect(url)
    if "sizing" in engine.names():
        engine.drop("sizing")
    with engine.lock("sizing"):
        index = engine.build("sizing", schema, "benchmark")
        source, letters, written, spent = random_documents(count, schema), 0, 0.0, 0.0
        while batch := list(islice(source, BATCH)):
            letters += sum(len(one.paper.title) + len(one.paper.abstract) for one in batch)
            begun = spent_by(engine)
            written += seconds(lambda batch=batch: index.upsert(batch))
            spent += spent_by(engine) - begun
        begun = spent_by(engine)
        finished = seconds(lambda: finish_merging(index))
        spent += spent_by(engine) - begun
        engine.publish(index)
    cluster = getattr(engine, "cluster", None)
    return {
        "product": cluster.product.kind if cluster else "embedded",
        "version": ".".join(map(str, cluster.product.version)) if cluster else "",
        "letters": letters // count,
        "disk": index.disk_bytes(),
        "load": round(spent, 2),
        "notes": {
            "written": round(written, 2),
            "finished": round(finished, 2),
            **(vector_files(index) if cluster else {}),
        },
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


def searching(url: str, count: int, quantization: Quantization, formats: int, dimension: int) -> dict[str, Any]:  # noqa: ARG001 - as `loading`
    engine = connect(url)
    index = engine.open("sizing")
    draw = np.random.default_rng(1).standard_normal((QUERIES, dimension)).astype(np.float32)
    queries = list(zip(claims(QUERIES), draw, strict=True))
    used: list[int] = []
    encoder = Remembered(index, dict(queries))
    pages = np.empty((ROUNDS, len(queries)))
    legs = np.empty((ROUNDS, len(queries)))
    for text, _ in queries[:WARMING]:
        search(index, SearchRequest(text), encoder)
    spent = []
    for turn in range(ROUNDS):
        begun = spent_by(engine)
        for number, (text, _) in enumerate(queries):
            pages[turn, number] = seconds(lambda text=text: search(index, SearchRequest(text), encoder))
        spent.append(spent_by(engine) - begun)
        for number, (text, vector) in enumerate(queries):
            plan = Plan(text, (VectorClause("prx", vector),), None, 100)
            legs[turn, number] = seconds(lambda plan=plan: index.search(plan))
        used += heaps(engine)
    found = {
        "page": round(1000 * min(spent) / len(queries), 2),
        "legs": [_quantile(legs.min(0), 0.5), _quantile(legs.min(0), 0.99)],
        "rest": round(_quantile(pages.min(0), 0.5) - _quantile(legs.min(0), 0.5), 2),
        "searched": {
            "heap": min(used, default=0),
            "page p50, p99": [_quantile(pages.min(0), 0.5), _quantile(pages.min(0), 0.99)],
            "all": [_quantile(pages, 0.5), _quantile(pages, 0.99)],
        },
    }
    if used:
        engine.drop("sizing")
    return found


def spent_by(engine: Any) -> float:
    """Return the CPU seconds of this process so far, and of the cluster's nodes."""
    nodes = engine.cluster.call("GET", "/_nodes/stats/process")["nodes"].values() if hasattr(engine, "cluster") else ()
    return time.process_time() + sum(node["process"]["cpu"]["total_in_millis"] for node in nodes) / 1000


def heaps(engine: Any) -> list[int]:
    """Return the bytes that a cluster's heaps hold."""
    nodes = engine.cluster.call("GET", "/_nodes/stats/jvm")["nodes"].values() if hasattr(engine, "cluster") else ()
    return [node["jvm"]["mem"]["heap_used_in_bytes"] for node in nodes]


def _quantile(times: np.ndarray, share: float) -> float:
    """Return a quantile of some seconds, in milliseconds."""
    return round(1000 * float(np.quantile(times, share)), 2)


STEPS: dict[str, Callable[..., dict[str, Any]]] = {step.__name__: step for step in (loading, searching)}


if __name__ == "__main__":
    main()
