"""Peak memory of writing, finishing and searching an embedded index, by its size, without a model.

Papers are PubMed's, with random vectors; searches are hybrid pages for SciFact's claims. Each step is a process of its
own. "Own" is memory that is of no file. All counts the mapped files that were read, too: processes share these, and the
system takes them back when it needs room. Of writing, only what came after the first batch was made is counted.
Needs SES_TEST_DATA. Run: python -m benchmarks.memory [PAPERS ...]
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from itertools import islice
from pathlib import Path

import numpy as np

from benchmarks.common import Remembered, claims, random_documents
from search_plugin.contract.schema import IndexSchema, paper_vector
from search_plugin.engines.registry import connect
from search_plugin.request import SearchRequest
from search_plugin.search import search

SCHEMA = IndexSchema("none", "none", (paper_vector("prx", 384, "cosine"),))
QUERIES, BATCH, PAUSE = 100, 2_000, 0.005


def main() -> None:
    if sys.argv[1:2] and sys.argv[1] in STEPS:
        print(json.dumps(STEPS[sys.argv[1]](sys.argv[2], int(sys.argv[3]))))
        return
    print("MiB      |   writing   |     finishing     |     searching     | finishing to searching")
    print("  papers |         own |      own      all |      own      all |      own      all")
    for size in sys.argv[1:] or ("5000", "33000", "132000"):
        with tempfile.TemporaryDirectory() as folder:
            (written, _), finished, searched = (_step(name, folder, size) for name in STEPS)
        ratios = [first / second for first, second in zip(finished, searched, strict=True)]
        figures = [f"{int(size):8,} | {written:11}", *(f"{own:8} {every:8}" for own, every in (finished, searched))]
        print(*figures, " ".join(f"{ratio:8.2f}" for ratio in ratios), sep=" | ", flush=True)


def _step(name: str, folder: str, size: str) -> list[int]:
    command = [sys.executable, "-m", "benchmarks.memory", name, folder, size]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


def writing(folder: str, size: int) -> list[int]:
    index = connect(f"embedded:{folder}").build("papers", SCHEMA, "benchmark")
    documents = random_documents(size, SCHEMA)
    batches = iter(lambda: list(islice(documents, BATCH)), [])
    first = next(batches)
    before = held()

    def write() -> None:
        index.upsert(first)
        for batch in batches:
            index.upsert(batch)

    return [peak - least for peak, least in zip(peaks(write), before, strict=True)]


def finishing(folder: str, _: int) -> list[int]:
    engine = connect(f"embedded:{folder}")
    index = engine.generation("papers", 1)
    taken = peaks(index.finish)
    engine.publish(index)
    return taken


def searching(folder: str, _: int) -> list[int]:
    index = connect(f"embedded:{folder}").open("papers")
    queries = claims(QUERIES)
    vectors = np.random.default_rng(1).standard_normal((QUERIES, 384)).astype(np.float32)
    encoder = Remembered(index, dict(zip(queries, vectors, strict=True)))
    return peaks(lambda: [search(index, SearchRequest(query), encoder) for query in queries])


def peaks(work: Callable[[], object]) -> list[int]:
    """Return the most memory while some work is done, in MiB: of no file, and all."""
    seen, done = [held()], threading.Event()

    def watch() -> None:
        while not done.wait(PAUSE):
            seen.append(held())

    watching = threading.Thread(target=watch)
    watching.start()
    try:
        work()
    finally:
        done.set()
        watching.join()
    return [max(values) for values in zip(*seen, strict=True)]


def held() -> tuple[int, int]:
    """Return the memory of this process in MiB: of no file, and all."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    status = dict(line.split(":", 1) for line in lines)
    own, every = (int(status[kind].split()[0]) >> 10 for kind in ("RssAnon", "VmRSS"))
    return own, every


STEPS: dict[str, Callable[[str, int], list[int]]] = {step.__name__: step for step in (writing, finishing, searching)}


if __name__ == "__main__":
    main()
