"""Pages per second of the embedded engine by clients: one, eight threads on one opened index, eight processes.

The same for the bare libraries: the best 100 of tantivy for the query of a page, and the best 100 vectors by faiss and
numpy, with nothing around them. They show what the machine's cores can give to more clients, and which part of a page
is not Python. PubMed's papers with random vectors (see `benchmarks.common.random_documents`), and SciFact's claims as
queries, whose vectors are known. Each client is given the same time. Needs SES_TEST_DATA.
Run: python -m benchmarks.clients [PAPERS]
"""

from __future__ import annotations

import multiprocessing
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from benchmarks.common import Remembered, claims, random_index
from search_plugin.contract.engine import Index
from search_plugin.engines.embedded import queries, vectors
from search_plugin.engines.registry import connect
from search_plugin.ranking.planning import plan_of
from search_plugin.request import SearchRequest
from search_plugin.search import search

QUERIES, WINDOW, CLIENTS, SECONDS, ROUNDS = 200, 100, 8, 4.0, 3


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 33_000
    with tempfile.TemporaryDirectory() as folder:
        url = f"embedded:{folder}"
        index = random_index(url, count)
        index.finish()
        connect(url).publish(index)
        print(f"{count:,} papers, pages per second, the best of {ROUNDS} rounds in turn")
        for kind in TURNS:
            best: dict[str, float] = {}
            for _ in range(ROUNDS):
                for name, (work, clients) in KINDS.items():
                    best[name] = max(best.get(name, 0.0), work(url, clients, kind))
            for name, pages in best.items():
                print(f"{name:16}{kind:18}{pages:7.0f}  {pages / best['one client']:5.2f}x", flush=True)


def in_threads(url: str, clients: int, kind: str) -> float:
    index = connect(url).open("papers")
    counts = [0] * clients
    begin, begun = threading.Barrier(clients), [0.0] * clients

    def client(number: int) -> None:
        turn = _client(index, number, kind)
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


def in_processes(url: str, clients: int, kind: str) -> float:
    context = multiprocessing.get_context("spawn")
    begin, counts = context.Barrier(clients), context.Queue()
    processes = [context.Process(target=_process, args=(url, number, kind, begin, counts)) for number in range(clients)]
    for process in processes:
        process.start()
    pages = sum(counts.get() for _ in processes)
    for process in processes:
        process.join()
    return pages / SECONDS


def _process(url: str, number: int, kind: str, begin: threading.Barrier, counts: object) -> None:
    turn = _client(connect(url).open("papers"), number, kind)
    begin.wait()
    done, end = 0, time.perf_counter() + SECONDS
    while time.perf_counter() < end:
        turn()
        done += 1
    counts.put(done)


def _client(index: Index, number: int, kind: str) -> Callable[[], object]:
    """Return a function that searches with the next query; the first searches are done."""
    texts, draw = claims(QUERIES), np.random.default_rng(7)
    asked = {text: draw.standard_normal(384).astype(np.float32) for text in texts}
    turns = TURNS[kind](index, asked)
    at = number * QUERIES // CLIENTS

    def turn() -> None:
        nonlocal at
        at += 1
        turns[at % len(turns)]()

    for _ in range(10):
        turn()
    return turn


def _pages(index: Index, asked: Mapping[str, np.ndarray], facets: tuple[str, ...] = ()) -> list[Callable[[], object]]:
    encoder = Remembered(index, asked)
    return [lambda text=text: search(index, SearchRequest(text, facets=facets), encoder) for text in asked]


def _bare(index: Index, asked: Mapping[str, np.ndarray]) -> list[Callable[[], object]]:
    """Return what the libraries do for a page of each query; tantivy's query is made beforehand."""
    words, snapshot, field = index._words, index._snapshot(), index.schema.leg("prx")
    lists, matrix, (_, owned) = snapshot.approximate(field.name), snapshot.matrix(field), snapshot.owners(field.name)

    def turn(query: object, vector: np.ndarray) -> None:
        snapshot.searcher.search(query, WINDOW, count=False)
        vectors.nearest(matrix, vector, field.similarity, WINDOW, owned, lists)

    made = {
        text: queries.ranking(words, snapshot.searcher, plan_of(index, SearchRequest(text, mode="lexical")))[0]
        for text in asked
    }
    return [partial(turn, made[text], vector) for text, vector in asked.items()]


TURNS: Mapping[str, Callable[[Index, Mapping[str, np.ndarray]], list[Callable[[], object]]]] = {
    "": _pages,
    "with two facets": partial(_pages, facets=("journal", "year")),
    "bare libraries": _bare,
}
KINDS = {
    "one client": (in_threads, 1),
    "eight threads": (in_threads, CLIENTS),
    "eight processes": (in_processes, CLIENTS),
}


if __name__ == "__main__":
    main()
