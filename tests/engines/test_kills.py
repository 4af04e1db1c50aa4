"""`kill -9` of ses, or of the server, loses nothing, doubles nothing, and finished work is not redone."""

from __future__ import annotations

import os
import random
import socket
import subprocess
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, replace

import pytest

from corpora.errors import UnavailableError
from indexer.pipeline import index_corpus
from search_plugin.engines.connection import Connection
from search_plugin.engines.registry import connect
from tests.engines.conftest import SCHEMA, empty
from tests.faults import ALWAYS, FaultProxy
from tests.indexer.jobs import contents, make_job, run_in_child, run_job
from tests.tiny import make_model, papers, write_jsonl

IDS = [paper.id for paper in papers(220)]


@dataclass(frozen=True)
class Home:
    """A folder with a model and two corpora, the second of which changes, drops and adds papers."""

    folder: object
    first: object
    second: object


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    folder = tmp_path_factory.mktemp("home")
    make_model(folder / "model")
    written = papers(200)
    changed = [replace(paper, title=f"{paper.title} vaccine") if i % 3 else paper for i, paper in enumerate(written)]
    return Home(
        folder,
        write_jsonl(folder / "first.jsonl", written),
        write_jsonl(folder / "second.jsonl", changed[50:] + papers(220)[200:]),
    )


def count_to(number, action):
    """A rewriting that does something when it has seen so many replies, and before they are passed on."""
    seen = 0

    def count(reply):
        nonlocal seen
        seen += 1
        if seen == number:
            action()
        return reply

    return count


def held(server):
    """How many papers the newest generation holds."""
    generations = server.cluster.call("GET", "/ses.papers.v*")
    newest = max(generations, key=lambda name: int(name.rpartition("v")[2]), default=None)
    if newest is None or "papers" in generations[newest]["aliases"]:
        return 0
    server.cluster.call("POST", f"/{newest}/_refresh")
    return server.cluster.call("POST", f"/{newest}/_count")["count"]


# The third and the last are right before and right after the swap: when the server has done what is named, and ses has
# not heard of it.
LOAD = [("PUT /ses.papers", 1), ("_bulk", 2), ("_mapping", 1)]
UPDATE = [("_bulk", 1)]
FRESH = [("_bulk", 2), ("_aliases", 1)]


def test_killed_runs_end_in_the_index_of_an_uninterrupted_one(server, proxy, home):
    run_job(home.folder, make_job(home.folder, home.first, "reference"), server.url)
    after_first = contents(home.folder, "reference", IDS, server.url)
    run_job(home.folder, make_job(home.folder, home.second, "reference"), server.url)
    after_second = contents(home.folder, "reference", IDS, server.url)
    assert (len(after_first), len(after_second)) == (200, 220)

    stages = ((home.first, "", LOAD, after_first), (home.second, "", UPDATE, after_second))
    for corpus, flag, moments, expected in (*stages, (home.first, "fresh", FRESH, after_first)):
        for match, number in moments:
            victims = []
            proxy.rewrite(count_to(number, lambda victims=victims: victims[0].kill()), match=match, times=ALWAYS)
            killed = run_in_child(home.folder, corpus, "papers", flag, proxy.url, meanwhile=victims.append)
            proxy.clear()
            assert killed is None, f"the run was over before {match} number {number}"
        done = held(server)
        begun = time.monotonic()
        report = run_in_child(home.folder, corpus, "papers", flag, proxy.url, meanwhile=lambda child: None)
        assert time.monotonic() - begun < 30, "the lease of the dead was waited for"
        assert report["unchanged"] >= done
        assert report["rejected"] == report["duplicates"] == 0
        assert contents(home.folder, "papers", IDS, server.url) == expected


class Server:
    """A server of its own for a test that kills it."""

    def __init__(self, kind):
        self.kind = kind
        self.name = f"faults-{kind}-{os.getpid()}"
        self._port = free_port()
        self._starting = None
        self.url = f"http://127.0.0.1:{self._port}"

    def do(self, verb):
        start = (self.kind, "--name", self.name, "--port", str(self._port), "--heap", "512m")
        command = [os.environ["SES_TEST_ENGINE_COMMAND"], verb, *(start if verb == "start" else (self.name,))]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)

    def crash(self):
        """Die, and be there again after a while."""
        self.wait()
        self.do("kill")
        self._starting = threading.Thread(target=self.do, args=["start"])
        self._starting.start()

    def wait(self):
        """Until it is there again."""
        if self._starting:
            self._starting.join()

    def remove(self):
        self.wait()
        self.do("remove")


def free_port():
    """A port on which, as with the thousandth after it, nobody listens; the servers take none but these."""
    for port in random.sample(range(9205, 9300), 95):
        with suppress(OSError):
            for number in (port, port + 1000):
                with socket.create_server(("127.0.0.1", number)):
                    pass
            return port
    raise AssertionError("no port is free")


@pytest.fixture(scope="module")
def own(request):
    server = Server(request.param)
    server.do("start")
    yield server
    server.remove()


@pytest.fixture
def between(own):
    empty(connect(own.url))
    with FaultProxy(own.url) as proxy:
        yield proxy


@pytest.mark.engines_cli
@pytest.mark.parametrize("own", ["elasticsearch9"], indirect=True)
def test_a_run_whose_server_dies_says_so_and_the_next_one_goes_on(own, between, home):
    job = make_job(home.folder, home.first)
    between.rewrite(count_to(2, lambda: own.do("kill")), match="_bulk", times=ALWAYS)
    with pytest.raises(UnavailableError, match=f"{between.url} does not answer"):
        index_corpus(job, connect(between.url, Connection(patience=1)))
    between.clear()
    own.do("start")
    done = held(connect(own.url))
    report = index_corpus(job, connect(between.url))
    assert report.unchanged == done > 0
    assert (report.papers, report.rejected, report.new) == (200, 0, 200 - done)
    assert contents(home.folder, "papers", IDS, own.url).keys() == set(IDS[:200])
    assert connect(own.url).open("papers").count("prx") == 200


@pytest.mark.engines_cli
@pytest.mark.parametrize("own", ["opensearch"], indirect=True)
def test_a_run_that_is_patient_waits_until_the_server_is_back(own, between, home):
    job = make_job(home.folder, home.first)
    # In the middle, right before and right after the swap.
    for match, number in (("_bulk", 2), ("_mapping", 1), ("_aliases", 1)):
        between.rewrite(count_to(number, own.crash), match=match, times=ALWAYS)
    report = index_corpus(job, connect(between.url, Connection(patience=150)))
    assert (report.new, report.papers, report.rejected) == (200, 200, 0)
    own.wait()
    index = connect(own.url).open("papers")
    assert index.count() == index.count("prx") == 200


@pytest.mark.engines_cli
@pytest.mark.parametrize("own", ["opensearch"], indirect=True)
def test_a_disk_that_is_nearly_full_is_told_and_gone_on_after(own, between, home):
    server = connect(own.url)
    job = make_job(home.folder, home.first, bulk_bytes=1)
    between.rewrite(count_to(2, lambda: fill_disk(server)), match="_bulk", times=ALWAYS)
    told = "disk is nearly full; free some space there, and run the same command again: it goes on where it stopped"
    with pytest.raises(UnavailableError, match=told):
        index_corpus(job, connect(between.url, Connection(timeout=100)))
    with pytest.raises(UnavailableError, match=r"allows no new index .* disks are nearly full; free some space there"):
        server.build("another", SCHEMA, "source")
    make_room(server)
    report = index_corpus(job, server)
    assert (report.papers, report.rejected) == (200, 0)
    assert report.unchanged >= 64


WATERMARKS = "cluster.routing.allocation.disk"


def fill_disk(server):
    """Have any disk count as full, and wait until the server has looked."""
    free = {f"{WATERMARKS}.watermark.{name}": f"{tb}tb" for name, tb in (("low", 9), ("high", 8), ("flood_stage", 7))}
    settings = {**free, f"{WATERMARKS}.threshold_enabled": True, "cluster.info.update.interval": "10s"}
    server.cluster.call("PUT", "/_cluster/settings", {"persistent": settings})
    deadline = time.monotonic() + 80
    while "read_only_allow_delete" not in str(server.cluster.call("GET", "/ses.papers.v1/_settings")):
        assert time.monotonic() < deadline
        time.sleep(0.2)


def make_room(server):
    nothing = {f"{WATERMARKS}.*": None, "cluster.info.update.interval": None, "cluster.blocks.create_index": None}
    server.cluster.call("PUT", "/_cluster/settings", {"persistent": nothing})
    server.cluster.call("PUT", "/ses.*/_settings", {"index.blocks.read_only_allow_delete": None})
