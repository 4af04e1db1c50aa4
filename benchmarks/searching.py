"""Searches over 33,000 papers, engine by engine: each leg alone, both in one request, and whole pages.

Real PubMed papers with random vectors (see `benchmarks.common.random_documents`), and SciFact's claims as queries,
whose vectors are computed in advance. The last part times one client's pages, including the encoding. Needs
SES_TEST_DATA.
Run: python -m benchmarks.searching [PAPERS] [ENGINE ...], such as http://HOST:9200; without any, the embedded one.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from benchmarks.common import Remembered, claims, percentile, random_index
from encoders.encoder import Encoder, load_encoder
from encoders.models.formats import Format
from encoders.registry import DEFAULT_MODEL
from search_plugin.contract.engine import Index
from search_plugin.contract.plan import Plan, VectorClause
from search_plugin.engines.registry import connect
from search_plugin.request import SAME_WORK, SearchRequest
from search_plugin.search import search

QUERIES = 200
TURN = 50  # calls of one kind in a row
CLIENTS = (1, 4, 8)
WINDOW = 100


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 33_000
    queries = claims(QUERIES)
    with tempfile.TemporaryDirectory() as folder:
        encoder = load_encoder(DEFAULT_MODEL, cache_dir=Path(folder))
        print(f"{count:,} papers, {len(queries)} queries")
        vectors = {query: encoder.encode([query], Format.QRY)[0] for query in queries}
        for url in sys.argv[2:] or [f"embedded:{folder}/indexes"]:
            engine = connect(url)
            card = encoder.card
            index = random_index(url, count, card.name, card.fingerprint, card.dimension)
            index.finish()
            settled(index)
            print(url if url.startswith("embedded") else engine.cluster.product.name)
            for clients in CLIENTS:
                measure(index, queries, Remembered(index, vectors), clients)
            whole_page(index, queries, encoder)
            engine.drop("papers")


def measure(index: Index, queries: Sequence[str], encoder: Remembered, clients: int) -> None:
    legs = {"lexical leg": [], "vector leg": [], "both legs": []}
    for query in queries:
        vectors = (VectorClause("prx", encoder.encode([query], Format.QRY)[0]),)
        plans = (Plan(query, (), None, WINDOW), Plan("", vectors, None, WINDOW), Plan(query, vectors, None, WINDOW))
        for name, plan in zip(legs, plans, strict=True):
            legs[name].append(lambda plan=plan: index.search(plan))
    pages = {
        "hybrid page": [SearchRequest(query) for query in queries],
        "hybrid page, no neighbours": [SearchRequest(query, neighbours=0) for query in queries],
        "hybrid page, one of a work": [SearchRequest(query, collapse=SAME_WORK) for query in queries],
        "hybrid page, added words": [SearchRequest(query, expand=True) for query in queries],
        "hybrid page, complete": [SearchRequest(query, rerank="complete") for query in queries],
        "hybrid page, two facets": [SearchRequest(query, facets=("journal", "year")) for query in queries],
    }
    work = {
        **legs,
        **{
            name: [lambda request=request: search(index, request, encoder) for request in requests]
            for name, requests in pages.items()
        },
    }
    taken = timed(work, clients)
    slower = [max(percentile(taken[leg], share) for leg in ("lexical leg", "vector leg")) for share in (0.5, 0.99)]
    for name, times in taken.items():
        ratios = [percentile(times, share) / alone for share, alone in zip((0.5, 0.99), slower, strict=True)]
        print(
            f"  {clients} clients, {name:26} {p50_and_p99(times)}  {ratios[0]:5.2f}x, {ratios[1]:5.2f}x the slower leg"
        )


def whole_page(index: Index, queries: Sequence[str], encoder: Encoder) -> None:
    """Print the cost of a page with its query's encoding, against the encoding alone."""
    work = {
        "encoding": [lambda query=query: encoder.encode([query], Format.QRY) for query in queries],
        "page": [lambda query=query: search(index, SearchRequest(query), encoder) for query in queries],
    }
    middle = {name: percentile(times, 0.5) for name, times in timed(work, 1).items()}
    ratio = middle["page"] / middle["encoding"]
    print(f"  encoding a query {middle['encoding']:.1f} ms, a page with it {middle['page']:.1f} ms: {ratio:.1f}x")


def timed(work: Mapping[str, Sequence[Callable[[], object]]], clients: int) -> dict[str, list[float]]:
    """Return the milliseconds of each call, by name; some clients call at the same time, after a warm-up.

    The kinds of calls take turns, so that other load of the machine is spread over all of them.
    """

    def one(call: Callable[[], object]) -> float:
        begun = time.perf_counter()
        call()
        return (time.perf_counter() - begun) * 1000

    taken: dict[str, list[float]] = {name: [] for name in work}
    with ThreadPoolExecutor(clients) as pool:
        for calls in work.values():
            list(pool.map(one, calls))  # all, since what an index remembers of words would favour later kinds
        for start in range(0, QUERIES, TURN):
            for name, calls in work.items():
                taken[name] += pool.map(one, calls[start : start + TURN])
    return taken


def p50_and_p99(times: Sequence[float]) -> str:
    return f"p50 {percentile(times, 0.5):6.1f} ms  p99 {percentile(times, 0.99):6.1f} ms"


def settled(index: Index) -> None:
    """Wait until a cluster has merged its segments."""
    cluster = getattr(index, "cluster", None)
    while cluster and any(
        node["indices"]["merges"]["current"]
        for node in cluster.call("GET", "/_nodes/stats/indices/merge")["nodes"].values()
    ):
        time.sleep(1)


if __name__ == "__main__":
    main()
