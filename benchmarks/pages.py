"""The cost of a page from a cluster, compared with sending the same requests directly by the product's client library.

Needs SES_TEST_DATA and servers that hold nothing else. Run: python -m benchmarks.pages PAPERS URL ...

Each client is a process, because threads of one process would share Python's lock, which is not measured here. Each
client sends the same requests twice, in turn: through `search`, and as the bodies that `search` sent for the same
query, recorded before, through the library's own call and with its own serializer. Neither encodes queries.
"""

from __future__ import annotations

import json
import multiprocessing
import statistics
import sys
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np

from benchmarks.common import claims, percentile, random_index
from benchmarks.searching import settled
from search_plugin.engines.registry import connect
from search_plugin.request import SearchRequest
from search_plugin.search import search
from search_plugin.understanding.expansion.acronyms import long_forms
from search_plugin.understanding.spelling import look_up_words

QUERIES = 96  # for all clients together
ROUNDS = 3
CLIENTS = (1, 8)
DIMENSION = 384
CARD = SimpleNamespace(name="none", fingerprint="none", papers_by="")
PAGES: Mapping[str, Mapping[str, Any]] = {
    "hybrid": {},
    "two facets": {"facets": ("journal", "year")},
}


def main() -> None:
    count = int(sys.argv[1])
    for url in sys.argv[2:]:
        engine = connect(url)
        index = random_index(url, count)
        index.finish()
        settled(index)
        engine.publish(index)
        print(f"{engine.cluster.product.name}, {count:,} papers")
        for kind in PAGES:
            for clients in CLIENTS:
                measure(url, kind, clients)
        engine.drop("papers")


def measure(url: str, kind: str, clients: int) -> None:
    """Print the median of all clients' pages for both ways, and their ratio."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(clients, context) as pool, context.Manager() as manager:
        barrier = manager.Barrier(clients)
        asked = [(url, kind, range(number, QUERIES, clients), barrier) for number in range(clients)]
        found = list(pool.map(client, *zip(*asked, strict=True)))
    page, bare = ([taken for ways in found for taken in ways[way].walls] for way in (0, 1))
    middle = [percentile(times, 0.5) for times in (page, bare)]
    processor = [statistics.median(ways[way].processor for ways in found) for way in (0, 1)]
    print(
        f"  {kind:18} {clients} clients: page p50 {middle[0]:6.1f} ms, bare p50 {middle[1]:6.1f} ms, "
        f"{middle[0] / middle[1]:.2f}x; of the client's processor {processor[0]:.1f} and {processor[1]:.1f} ms"
    )


@dataclass
class Times:
    """Times of one way of asking: milliseconds of each page, and the client's mean CPU milliseconds per page."""

    walls: list[float] = field(default_factory=list)
    processor: float = 0.0


def client(url: str, kind: str, numbers: range, barrier: Any) -> tuple[Times, Times]:
    """Ask for pages both ways, and return the times of `search` and of the bare requests."""
    texts = claims(QUERIES)
    queries = [texts[number] for number in numbers]
    vectors = np.random.default_rng(numbers[0]).standard_normal((len(queries), 1, DIMENSION)).astype(np.float32)
    index = connect(url).open("papers")
    # As in a service that has run for a while, the words of the queries and the long forms of acronyms are known.
    for query in queries:
        look_up_words(index, query)
        long_forms(index, query)
    requests = [SearchRequest(query, **PAGES[kind]) for query in queries]
    encoders = [SimpleNamespace(card=CARD, encode=lambda *_, vector=vector: vector) for vector in vectors]
    recorded = [record(index, request, encoder) for request, encoder in zip(requests, encoders, strict=True)]
    bare = bare_client(url, index.cluster.product)
    ways = (Times(), Times())
    for turn in range(2 * ROUNDS):
        way = turn % 2
        barrier.wait()  # so that all clients use the same way
        spent = time.process_time()
        for request, encoder, bodies in zip(requests, encoders, recorded, strict=True):
            begun = time.perf_counter()
            if way:
                for path, lines in bodies:
                    bare(path, lines)
            else:
                search(index, request, encoder)
            ways[way].walls.append((time.perf_counter() - begun) * 1000)
        ways[way].processor += (time.process_time() - spent) * 1000 / (len(queries) * ROUNDS)
    return ways


def record(index: Any, request: SearchRequest, encoder: Any) -> Sequence[tuple[str, Any]]:
    """Search once, and return the requests that were sent, with bodies in the form that users of the library write."""
    sent: list[tuple[str, Any]] = []
    call = index.cluster.call

    def recording(method: str, path: str, body: Any = None, **options: Any) -> Any:
        lines = [json.loads(line) for line in body.splitlines()] if isinstance(body, bytes) else body
        sent.append((path, lines))
        return call(method, path, body, **options)

    index.cluster.call = recording
    try:
        search(index, request, encoder)
    finally:
        del index.cluster.call
    return sent


def bare_client(url: str, product: Any) -> Any:
    """Return a function that sends a search, or several at once, by the product's own library, at its defaults."""
    if product.kind == "opensearch":
        from opensearchpy import OpenSearch

        library: Any = OpenSearch(url)
        several = "body"
    else:
        from search_plugin.engines.cluster.clients import _elasticsearch_module

        library = _elasticsearch_module(product).Elasticsearch(url)
        several = "searches"

    def bare(path: str, asked: Any) -> None:
        name = path.split("/")[1]
        if isinstance(asked, list):
            library.msearch(index=name, **{several: asked})
        else:
            library.search(index=name, body=asked)

    return bare


if __name__ == "__main__":
    main()
