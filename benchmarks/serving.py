"""The service beside the same searches in its own process, a bare server, and a peer's server; as ratios in one run.

An embedded index of PubMed's papers with random vectors (see `benchmarks.common.random_documents`) is searched by the
titles of other papers. Each is asked once, so that no answer is cached, unless a line says so. The queries are encoded
by the default model. Clients are asyncio streams in this process, so they take time from the servers where there are
few cores. Needs SES_TEST_DATA and the extra serve.

With the environment variable TXTAI naming the Python of an environment with `txtai[api]`, its server is measured too,
over the same papers and vectors.

Run: python -m benchmarks.serving [PAPERS]
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path
from urllib.parse import quote, urlencode

import ses
from benchmarks.common import percentile, pubmed_rows, random_index
from encoders.registry import find_model
from search_plugin.engines.registry import connect
from search_plugin.request import SAME_WORK
from ses.service.web.narrowing import YEAR
from ses.service.web.search import COUNTED, facet_fields

QUESTIONS, ROUNDS, CROWD = 100, 3, 16
PORTS = count(18_700)

_BARE = """
import sys
import orjson
import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response
from starlette.routing import Route
import ses

index = ses.open().default()

async def search(request):
    page = await run_in_threadpool(index.search, request.query_params["query"])
    return Response(orjson.dumps(page), media_type="application/json")

app = Starlette(routes=[Route("/v1/search", search)])
uvicorn.run(app, port=int(sys.argv[1]), log_level="warning")
"""
"""A server that does nothing but search, without parameters, errors, caches and limits."""


def main() -> None:
    papers = int(sys.argv[1]) if len(sys.argv) > 1 else 33_000
    with tempfile.TemporaryDirectory() as folder:
        # Else those that are asked later would find the vector of the query on disk.
        os.environ |= {"SES_DATA_DIR": folder, "SES_CACHE_DIR": f"{folder}/cache", "SES_EMBEDDING_CACHE": "false"}
        _make_index(Path(folder), papers)
        print(f"{papers:,} papers, {os.cpu_count()} cores")
        _alone(Path(folder), papers)
        _web_page()
        _crowd()
        _processes()


def _make_index(folder: Path, papers: int) -> None:
    model = ses.load_model()
    url = f"embedded:{folder / 'indexes'}"
    index = random_index(url, papers, model.card.name, model.card.fingerprint, model.card.dimension)
    index.finish()
    connect(url).publish(index)
    model.encode(["warm"])


def questions() -> Iterator[str]:
    """Titles of papers, from the end of the file; none is repeated."""
    for row in reversed(pubmed_rows()):
        yield row["title"][:200]


@contextlib.contextmanager
def served(command: Sequence[str], ready: str = "/readyz") -> Iterator[tuple[int, float, subprocess.Popen[bytes]]]:
    """Run a server; yield its port, the seconds until it was ready, and its process."""
    port = next(PORTS)
    begun = time.perf_counter()
    process = subprocess.Popen([one.format(port=port) for one in command])
    try:
        while _status(port, ready) != 200:
            if process.poll() is not None:
                sys.exit(f"{command[0]} ended with {process.returncode}.")
            time.sleep(0.01)
        yield port, time.perf_counter() - begun, process
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)


def _status(port: int, path: str) -> int:
    async def ask() -> int:
        with contextlib.suppress(OSError, EOFError, asyncio.IncompleteReadError):
            client = await Client.connect(port)
            return (await client.get(path))[0]
        return 0

    return asyncio.run(ask())


class Client:
    """A connection that is kept, as a front end keeps it."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    @classmethod
    async def connect(cls, port: int) -> Client:
        """Connect to a server of this machine."""
        return cls(*await asyncio.open_connection("127.0.0.1", port, limit=1 << 22))

    async def get(self, path: str) -> tuple[int, bytes]:
        """Return the status and the body of an answer."""
        self._writer.write(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        head = (await self._reader.readuntil(b"\r\n\r\n")).lower()
        length = int(head.partition(b"content-length:")[2].split(b"\r\n", 1)[0])
        return int(head.split(b" ", 2)[1]), await self._reader.readexactly(length)


async def timed(port: int, asked: Sequence[str], clients: int, path: str = "/v1/search?query=") -> list[float]:
    """Milliseconds of each request, by a number of clients at once."""
    waiting, taken = list(asked), []

    async def work() -> None:
        client = await Client.connect(port)
        while waiting:
            question = quote(waiting.pop())
            begun = time.perf_counter()
            status, _ = await client.get(path + question)
            taken.append((time.perf_counter() - begun) * 1000)
            if status != 200:
                raise SystemExit(f"A search was answered by {status}.")

    await asyncio.gather(*(work() for _ in range(clients)))
    return taken


def _ask(port: int, asked: Sequence[str], clients: int = 1, path: str = "/v1/search?query=") -> list[float]:
    return asyncio.run(timed(port, asked, clients, path))


OURS = (sys.executable, "-m", "ses", "serve", "--port", "{port}")


def _alone(folder: Path, papers: int) -> None:
    """One client: the service, the same search in this process, a bare server, and a peer's."""
    more = questions()
    index = ses.open().default()
    index.search("warm")
    with contextlib.ExitStack() as stack:
        port, ready, _ = stack.enter_context(served(OURS))
        bare, *_ = stack.enter_context(served((sys.executable, "-c", _BARE, "{port}"), "/v1/search?query=warm"))
        print(f"ready after {ready:.2f} s")
        contenders = {
            "in process": lambda asked: [_milliseconds(index, one) for one in asked],
            "service": lambda asked: _ask(port, asked),
            "bare server": lambda asked: _ask(bare, asked),
        }
        if peer := os.environ.get("TXTAI"):
            theirs = stack.enter_context(_txtai(peer, folder, papers))
            contenders["txtai"] = lambda asked: _ask(theirs, asked, path="/search?limit=10&query=")
        found: dict[str, list[float]] = {name: [] for name in contenders}
        names = list(contenders)
        for turn in range(ROUNDS * 5):  # so that other load is spread over all
            asked = [next(more) for _ in range(QUESTIONS // 5)]
            for name in names[turn % len(names) :] + names[: turn % len(names)]:
                found[name] += contenders[name](asked)
        cached = _ask(port, [asked[0]] * QUESTIONS)
    own = statistics.median(found["in process"])
    print(f"{'one client':14}{'p50':>8}{'p99':>8}   p50 over in process")
    for name, taken in {**found, "cached": cached}.items():
        middle = statistics.median(taken)
        print(f"{name:14}{middle:8.2f}{percentile(taken, 0.99):8.2f}   {middle / own:.2f}")


_TXTAI = """
import json, sys
import numpy as np
from pathlib import Path
from txtai import Embeddings

folder, count = Path(sys.argv[1]), int(sys.argv[2])
rows = [json.loads(line) for line in (folder / "papers.jsonl").open(encoding="utf-8")]
vectors = np.random.default_rng(0).standard_normal((count, 384)).astype(np.float32)
vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
drawn = iter(vectors)
scoring = {"method": "bm25", "terms": True, "normalize": False, "tokenizer": {"stopwords": True}}
embeddings = Embeddings(
    method="external", transform=lambda texts: np.stack([next(drawn) for _ in texts]), content=True, hybrid=True,
    scoring=scoring,
)
embeddings.index((str(n), {**row, "text": row["title"] + " " + row["abstract"]}) for n, row in enumerate(rows))
for name in ("transform", "method"):
    embeddings.config.pop(name)
embeddings.config["path"] = sys.argv[3]
embeddings.save(str(folder / "txtai"))
(folder / "txtai.yml").write_text(f"path: {folder / 'txtai'}\\nwritable: false\\nembeddings:\\n  content: true\\n")
"""


@contextlib.contextmanager
def _txtai(python: str, folder: Path, papers: int) -> Iterator[int]:
    """Run txtai's own server over the same papers, hybrid too, and yield its port."""
    rows = pubmed_rows()
    with (folder / "papers.jsonl").open("w", encoding="utf-8") as file:
        for number in range(papers):
            row = rows[number % len(rows)]
            shown = {
                "title": row["title"],
                "abstract": row["abstract"] or "",
                "year": row["year"],
                "venue": row["journal"],
            }
            file.write(json.dumps(shown) + "\n")
    model = find_model("all-MiniLM-L6-v2").folder
    subprocess.run([python, "-c", _TXTAI, str(folder), str(papers), str(model)], check=True)
    os.environ["CONFIG"] = str(folder / "txtai.yml")
    command = (python, "-m", "uvicorn", "txtai.api:app", "--port", "{port}", "--log-level", "warning")
    with served(command, "/search?query=warm&limit=10") as (port, _, _):
        yield port


def _milliseconds(index: ses.OpenIndex, question: str) -> float:
    begun = time.perf_counter()
    index.search(question)
    return (time.perf_counter() - begun) * 1000


def _web_page() -> None:
    """Processor time of a page of hits, and of the same search by the API, with the same facets and collapsing."""
    more, schema = questions(), ses.open().default().index.schema
    options = {"collapse": SAME_WORK, "facet_size": COUNTED, "facets": [YEAR, *facet_fields(schema)], "query": ""}
    paths = {"page": "/?query=", "API": f"/v1/search?{urlencode(options, doseq=True)}"}
    taken = dict.fromkeys(paths, 0.0)
    with served((*OURS, "--workers", "1")) as (port, _, process):
        for path in paths.values():
            _ask(port, [next(more) for _ in range(20)], path=path)
        for _ in range(ROUNDS * 2):
            for name, path in paths.items():
                begun = _processor_time(process.pid)
                _ask(port, [next(more) for _ in range(QUESTIONS // 2)], path=path)
                taken[name] += _processor_time(process.pid) - begun
    each = {name: seconds * 1000 / (QUESTIONS * ROUNDS) for name, seconds in taken.items()}
    ratio = each["page"] / each["API"]
    print(
        f"processor time: {each['page']:.1f} ms for a page, {each['API']:.1f} ms for its search by the API: {ratio:.2f}"
    )


def _processor_time(pid: int) -> float:
    """Seconds of processor time that a process has taken."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _crowd() -> None:
    """Many clients beside one for each core."""
    more, cores = questions(), os.cpu_count() or 1
    with served(OURS) as (port, _, _):
        _ask(port, [next(more) for _ in range(20)])
        few = _ask(port, [next(more) for _ in range(QUESTIONS * 3)], cores)
        many = _ask(port, [next(more) for _ in range(QUESTIONS * 5)], CROWD)
    middle, last = statistics.median(few), percentile(many, 0.99)
    print(f"p50 of {cores} clients {middle:.2f} ms, p99 of {CROWD} clients {last:.2f} ms: {last / middle:.2f}")


def _processes() -> None:
    """Pages per second and own memory of one process and of several."""
    more, cores = questions(), os.cpu_count() or 1
    rates, memory = {}, {}
    for workers in (1, cores):
        with served((*OURS, "--workers", str(workers))) as (port, _, process):
            _ask(port, [next(more) for _ in range(40)], CROWD)
            begun = time.perf_counter()
            _ask(port, [next(more) for _ in range(QUESTIONS * 5)], CROWD)
            rates[workers] = QUESTIONS * 5 / (time.perf_counter() - begun)
            memory[workers] = _own_memory(process.pid)
    print(f"{cores} processes: {rates[cores] / rates[1]:.2f} times the pages per second of one ({rates[1]:.0f})")
    print(f"each further process: {(memory[cores] - memory[1]) / (cores - 1) / 2**20:.0f} MiB of its own")


def _own_memory(pid: int) -> int:
    """Bytes that a process and its children share with no other one."""
    pids = [
        pid,
        *(
            int(child)
            for task in Path(f"/proc/{pid}/task").iterdir()
            for child in (task / "children").read_text().split()
        ),
    ]
    lines = (line for one in pids for line in Path(f"/proc/{one}/smaps_rollup").read_text().splitlines())
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith(("Private_Clean", "Private_Dirty")))


if __name__ == "__main__":
    main()
