"""What the tests of kills share: papers to load, servers of their own, and random moments of a load."""

from __future__ import annotations

import os
import random
import re
import socket
import subprocess
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from tests.faults import ALWAYS, FaultProxy, Request
from tests.tiny import make_model, papers, write_jsonl

IDS = [paper.id for paper in papers(220)]


@dataclass(frozen=True)
class Home:
    """A folder with a model and two corpora, the second of which changes, drops and adds papers."""

    folder: Path
    first: Path
    second: Path


def make_home(folder: Path) -> Home:
    """Write the model and both corpora: 200 papers, and the last 150 of them with 20 others."""
    make_model(folder / "model")
    written = papers(200)
    changed = [replace(paper, title=f"{paper.title} vaccine") if i % 3 else paper for i, paper in enumerate(written)]
    return Home(
        folder,
        write_jsonl(folder / "first.jsonl", written),
        write_jsonl(folder / "second.jsonl", changed[50:] + papers(220)[200:]),
    )


def held(server) -> int:
    """How many papers the newest generation holds, if it is not published yet."""
    generations = server.cluster.call("GET", "/ses.papers.v*")
    newest = max(generations, key=lambda name: int(name.rpartition("v")[2]), default=None)
    if newest is None or "papers" in generations[newest]["aliases"]:
        return 0
    server.cluster.call("POST", f"/{newest}/_refresh")
    return server.cluster.call("POST", f"/{newest}/_count")["count"]


def quick() -> dict[str, str]:
    """The environment of a server for a few tests: without its second compiler, a JVM starts with half the work."""
    return {"JDK_JAVA_OPTIONS": "-XX:TieredStopAtLevel=1", **os.environ}


class Server:
    """A server of its own for a test that kills it."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.name = f"faults-{kind}-{os.getpid()}"
        self._port = free_port()
        self._starting: threading.Thread | None = None
        self.url = f"http://127.0.0.1:{self._port}"

    def do(self, verb: str) -> None:
        """Let the script start it, which changes nothing where it is running, kill it or remove it."""
        start = (self.kind, "--name", self.name, "--port", str(self._port), "--heap", "512m")
        command = [os.environ["SES_TEST_ENGINE_COMMAND"], verb, *(start if verb == "start" else (self.name,))]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=quick())

    def crash(self) -> None:
        """Die, and be there again after a while."""
        self.wait()
        self.do("kill")
        self._starting = threading.Thread(target=self.do, args=["start"])
        self._starting.start()

    def wait(self) -> None:
        """Until it is there again."""
        if self._starting:
            self._starting.join()

    def remove(self) -> None:
        self.wait()
        self.do("remove")


def own_servers(*kinds: Any) -> pytest.MarkDecorator:
    """Mark a test of servers that it kills, of each of these kinds, in the fixture `own`."""
    return pytest.mark.parametrize("started", kinds, indirect=True, scope="session")


def free_port() -> int:
    """A port on which, as with the thousandth after it, nobody listens; the servers take none but these."""
    for port in random.sample(range(9205, 9300), 95):
        with suppress(OSError):
            for number in (port, port + 1000):
                with socket.create_server(("127.0.0.1", number)):
                    pass
            return port
    raise AssertionError("no port is free")


def kind_of(request: Request) -> str:
    """A request's line without generations and parameters, such as `POST /ses.papers.v/_bulk`."""
    return f"{request.method} {re.sub(r'[.]v[0-9*]+', '.v', request.path.partition('?')[0])}"


@dataclass(frozen=True, slots=True)
class Moment:
    """When a kill comes.

    Attributes:
        kind: Of the request it comes at, as `kind_of` tells it.
        number: Of that request, counted from 1 among those of its kind.
        side: Of the server's work on that request: before, meanwhile or after.
        delay: Seconds into that work, for meanwhile.
    """

    kind: str
    number: int
    side: str
    delay: float


def draw_moment(draw: random.Random, load: list[Request]) -> Moment:
    """Draw a moment of a load: every other one while papers are written, the others at any kind of its requests."""
    kinds = [kind_of(request) for request in load]
    writing = sorted({kind for kind in kinds if kind.endswith("_bulk")})
    kind = draw.choice(writing if draw.random() < 0.5 else sorted(set(kinds)))
    side = draw.choice(["before", "meanwhile", "after"])
    return Moment(kind, draw.randint(1, kinds.count(kind)), side, draw.uniform(0, 0.03))


def strike(proxy: FaultProxy, moment: Moment, kill: Callable[[], object]) -> threading.Event:
    """Have the proxy kill somebody at a moment; return what is set when it has."""
    done, one_at_a_time, seen = threading.Event(), threading.Lock(), 0

    def act() -> None:
        kill()
        done.set()

    def handle(request, forward):
        nonlocal seen
        with one_at_a_time:
            seen += kind_of(request) == moment.kind
            now = kind_of(request) == moment.kind and seen == moment.number
        if not now:
            return forward()
        if moment.side == "before":
            return act()
        if moment.side == "meanwhile":
            killer = threading.Timer(moment.delay, act)
            killer.start()
            reply = forward()
            killer.join()
            return reply
        reply = forward()
        act()
        return reply

    proxy.handle(handle, times=ALWAYS)
    return done
