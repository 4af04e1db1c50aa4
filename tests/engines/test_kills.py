"""A server that dies, or whose disk is full, is told; and the next run goes on."""

from __future__ import annotations

import time

import pytest

from corpora.errors import UnavailableError
from indexer.pipeline import index_corpus
from search_plugin.contract.connection import Connection
from search_plugin.engines.registry import connect
from tests.chance import effort
from tests.engines.conftest import SCHEMA
from tests.engines.killing import IDS, held, make_home, own_servers
from tests.faults import ALWAYS, FaultProxy
from tests.indexer.jobs import contents, make_job


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return make_home(tmp_path_factory.mktemp("home"))


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


@pytest.fixture
def between(own):
    with FaultProxy(own.url) as proxy:
        yield proxy


@pytest.mark.engines_cli
@own_servers("elasticsearch9")
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
@own_servers("opensearch")
def test_a_run_that_is_patient_waits_until_the_server_is_back(own, between, home):
    job = make_job(home.folder, home.first)
    # In the middle, right after the swap, and where there is time, right before it too.
    for match, number in [("_bulk", 2), ("_aliases", 1), ("_mapping", 1)][: effort(2, 2, 3)]:
        between.rewrite(count_to(number, own.crash), match=match, times=ALWAYS)
    report = index_corpus(job, connect(between.url, Connection(patience=150)))
    assert (report.new, report.papers, report.rejected) == (200, 200, 0)
    own.wait()
    index = connect(own.url).open("papers")
    assert index.count() == index.count("prx") == 200


@pytest.mark.engines_cli
@own_servers("opensearch")
def test_a_disk_that_is_nearly_full_is_told_and_gone_on_after(own, between, home):
    server = connect(own.url)
    job = make_job(home.folder, home.first, bulk_bytes=1)
    between.rewrite(count_to(2, lambda: fill_disk(server)), match="_bulk", times=ALWAYS)
    told = "disk is nearly full; free some space there, and try again: it resumes"
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
