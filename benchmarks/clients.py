"""Pages per second of the embedded engine by clients: one, eight threads on one opened index, eight processes.

PubMed's papers with random vectors (see `benchmarks.common.random_documents`), and SciFact's claims as queries, whose
vectors are known. Each client is given the same time. Needs SES_TEST_DATA. Run: python -m benchmarks.clients [PAPERS]
"""

from __future__ import annotations

import multiprocessing
import sys
import tempfile
import threading
import time
from collections.abc import Callable

import numpy as np

from benchmarks.common import Remembered, claims, random_index
from search_plugin.contract.engine import Index
from search_plugin.engines.registry import connect
from search_plugin.request import SearchRequest
from search_plugin.search import search

QUERIES, CLIENTS, SECONDS, ROUNDS = 200, 8, 4.0, 3


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 33_000
    with tempfile.TemporaryDirectory() as folder:
        url = f"embedded:{folder}"
        index = random_index(url, count)
        index.finish()
        connect(url).publish(index)
        print(f"{count:,} papers, pages per second, the best of {ROUNDS} rounds in turn")
        for facets in ((), ("journal", "year")):
            best: dict[str, float] = {}
            for _ in range(ROUNDS):
                for name, (work, clients) in KINDS.items():
                    best[name] = max(best.get(name, 0.0), work(url, clients, facets))
            for name, pages in best.items():
                note = "with two facets" if facets else ""
                print(f"{name:16}{note:18}{pages:7.0f}  {pages / best['one client']:5.2f}x", flush=True)


def in_threads(url: str, clients: int, facets: tuple[str, ...]) -> float:
    index = connect(url).open("papers")
    counts = [0] * clients
    begin, begun = threading.Barrier(clients), [0.0] * clients

    def client(number: int) -> None:
        turn = _client(index, number, facets)
        begin.wait()
        begun[number] = time.perf_counter()
        while time.perf_counter() < begun[number] + SECONDS:
            turn()
            counts[number] += 1

    threads = [threading.Thread(target=client, args=(number,)) for number in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(counts) / SECONDS


def in_processes(url: str, clients: int, facets: tuple[str, ...]) -> float:
    context = multiprocessing.get_context("spawn")
    begin, counts = context.Barrier(clients), context.Queue()
    processes = [
        context.Process(target=_process, args=(url, number, facets, begin, counts)) for number in range(clients)
    ]
    for process in processes:
        process.start()
    pages = sum(counts.get() for _ in processes)
    for process in processes:
        process.join()
    return pages / SECONDS


def _process(url: str, number: int, facets: tuple[str, ...], begin: threading.Barrier, counts: object) -> None:
    turn = _client(connect(url).open("papers"), number, facets)
    begin.wait()
    done, end = 0, time.perf_counter() + SECONDS
    while time.perf_counter() < end:
        turn()
        done += 1
    counts.put(done)


def _client(index: Index, number: int, facets: tuple[str, ...]) -> Callable[[], object]:
    """Return a function that searches with the next query; the first searches are done."""
    queries, draw = claims(QUERIES), np.random.default_rng(7)
    encoder = Remembered(index, {query: draw.standard_normal(384).astype(np.float32) for query in queries})
    at = number * QUERIES // CLIENTS

    def turn() -> None:
        nonlocal at
        at += 1
        search(index, SearchRequest(queries[at % len(queries)], facets=facets), encoder)

    for _ in range(10):
        turn()
    return turn


KINDS = {
    "one client": (in_threads, 1),
    "eight threads": (in_threads, CLIENTS),
    "eight processes": (in_processes, CLIENTS),
}


if __name__ == "__main__":
    main()
