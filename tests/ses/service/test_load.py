"""Many clients over a socket while the index changes: no answer is lost, and each is the page of a published state."""

from __future__ import annotations

import asyncio
import threading
import time
from itertools import count, cycle, islice
from urllib.parse import urlencode

import httpx
import pytest

import ses
from tests.ses.service.test_attacks import serving
from tests.tiny import papers

pytestmark = [pytest.mark.serve, pytest.mark.slow]

FACETS = ("shelf", "venue")
ASKED = tuple(
    {"query": query, "mode": mode, "size": size, "facets": FACETS, **filtered}
    for query in ("virus lung", "protein", "galaxy quantum star", "heart -blood", "")
    for mode in ("lexical", "hybrid")
    for size in (5, 20)
    for filtered in ({}, {"filter": "year>=2005"})
)


class Writer:
    """Changes and replaces an index again and again, and keeps the pages of each state that it published."""

    def __init__(self, library):
        self._library = library
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.error = None
        self.states = []
        self._write(0)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._stopped.set()
        self._thread.join()

    def _run(self):
        try:
            for step in count(1):
                if self._stopped.wait(0.2):  # readers have the processor meanwhile
                    return
                self._write(step)
        except BaseException as error:
            self.error = error
            raise

    def _write(self, step):
        """Take one step: a new version, other values, fewer papers, or one that is written anew."""
        match step % 4:
            case 0:
                self._library.index("papers", papers(80, seed=step), fields={"shelf": "keyword"}, fresh=True)
            case 1:
                self._library.update("papers", {f"p{n:05}": {"shelf": f"s{step}-{n % 3}"} for n in range(60)})
            case 2:
                self._library["papers"].delete([f"p{n:05}" for n in range(step % 7, 80, 7)])
            case _:
                self._library.index("papers", papers(80, seed=step)[:1])
        index = self._library["papers"]
        self.states.append([of_page(index.search(**asked)) for asked in ASKED])


def of_page(page):
    counts = {name: [tuple(one) for one in values] for name, values in page.facets.counts.items()}
    return [(hit.id, hit.paper.title, round(hit.score, 5)) for hit in page], page.candidates, counts


def of_reply(reply):
    """The same of an answer; its status if it is none."""
    if reply.status_code != 200:
        return f"{reply.status_code} {reply.text}"
    body = reply.json()
    counts = {name: [tuple(one) for one in values] for name, values in body["facets"]["counts"].items()}
    hits = [(hit["paper"]["id"], hit["paper"]["title"], round(hit["score"], 5)) for hit in body["hits"]]
    return hits, body["candidates"], counts


LONGEST = 120
"""Seconds after which nothing is waited for any more, on a busy machine too."""


async def crowd(address, clients, seconds, *, states=1):
    """Ask for all pages in turn by many clients; return the milliseconds and the replies by what was asked.

    They ask for so many seconds, and go on until a page was seen in so many states.
    """
    began = time.monotonic()
    milliseconds, found = [], [[] for _ in ASKED]
    limits = httpx.Limits(max_connections=clients)

    async def ask(first):
        for at in islice(cycle(range(len(ASKED))), first % len(ASKED), None):
            begun = time.perf_counter()
            reply = await client.get(f"/v1/search?{urlencode(ASKED[at], doseq=True)}")
            milliseconds.append((time.perf_counter() - begun) * 1000)
            seen = of_reply(reply)
            if seen not in found[at]:
                found[at].append(seen)
            took = time.monotonic() - began
            if took > (seconds if max(map(len, found)) >= states else LONGEST):
                return

    async with httpx.AsyncClient(base_url=address, limits=limits, timeout=60, trust_env=False) as client:
        await asyncio.gather(*map(ask, range(clients)))
    return sorted(milliseconds), found


@pytest.mark.parametrize(("clients", "seconds"), [(50, 3), pytest.param(200, 60, marks=pytest.mark.long)])
def test_no_answer_is_wrong_or_lost_while_the_index_changes(tmp_path, small_model, record_property, clients, seconds):
    library = ses.open(
        tmp_path / "indexes", model=small_model, data_dir=tmp_path / "data", cache_dir=tmp_path / "cache"
    )
    writer = Writer(library)
    with serving(library, fresh_seconds=0.05) as (host, port):
        with writer:
            milliseconds, found = asyncio.run(crowd(f"http://{host}:{port}", clients, seconds, states=2))
        assert writer.error is None
        states = writer.states
        wrong = [
            (asked, seen)
            for asked, right, replies in zip(ASKED, zip(*states, strict=True), found, strict=True)
            for seen in replies
            if seen not in right
        ]
        assert wrong == []
        assert len(milliseconds) >= clients
        assert max(map(len, found)) > 1, "readers saw one state alone"
        # The service looks for another state from time to time.
        wrong, deadline = [True], time.monotonic() + LONGEST
        while wrong and time.monotonic() < deadline:
            _, last = asyncio.run(crowd(f"http://{host}:{port}", 1, 0.5))
            wrong = [
                replies[-1]
                for right, replies in zip(states[-1], last, strict=True)
                if replies[-1:] not in ([], [right])
            ]
        assert wrong == []
    for part in (50, 99):
        record_property(f"milliseconds, p{part}", round(milliseconds[len(milliseconds) * part // 100]))
    record_property("answers", len(milliseconds))
    record_property("states", len(states))
