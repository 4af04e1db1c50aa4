"""A search over a cluster that is away, slow or not whole: asked again where that helps, and never half an answer."""

from __future__ import annotations

import socket
import time
from contextlib import contextmanager

import numpy as np
import pytest

from corpora.errors import UnavailableError
from search_plugin.contract import connection
from search_plugin.contract.connection import Connection
from search_plugin.contract.plan import Plan, VectorClause
from search_plugin.engines.cluster import index as cluster_index
from search_plugin.engines.cluster.transport import RetryPolicy
from search_plugin.engines.registry import connect
from tests.engines.conftest import DIMENSION, SCHEMA, documents, every_version
from tests.faults import ALWAYS

PLAN = Plan("virus cell", (VectorClause("prx", np.ones(DIMENSION, np.float32)),), None, 10)


@pytest.fixture
def index(server):
    """Of forty papers, published."""
    made = server.build("papers", SCHEMA, "source")
    made.upsert(documents(40))
    made.finish()
    server.publish(made)
    return server.open("papers")


@pytest.fixture
def through(index, proxy):
    """The same, reached through the proxy, which has yet to misbehave."""
    return connect(proxy.url).open("papers")


@pytest.fixture
def hasty(monkeypatch):
    """Searches that try again for a second only."""
    monkeypatch.setattr(cluster_index, "READING", RetryPolicy(1.0, 0.2))


def closed_port():
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return listening.getsockname()[1]


@contextmanager
def black_hole():
    """A port that takes no connection and refuses none, as a machine that is switched off."""
    with socket.create_server(("127.0.0.1", 0), backlog=0) as listening:
        address = listening.getsockname()
        with socket.create_connection(address):
            yield f"http://127.0.0.1:{address[1]}"


def test_a_server_that_is_not_there_is_named_within_seconds(impatient):
    url = f"http://127.0.0.1:{closed_port()}"
    begun = time.monotonic()
    with pytest.raises(UnavailableError, match=f"{url} does not answer .*refused.*start it, or check engine") as told:
        connect(url)
    assert time.monotonic() - begun < 10
    assert told.value.kind == "unavailable"


def test_a_server_that_goes_away_is_named_within_seconds(through, proxy, hasty):
    through.search(PLAN)
    proxy.cut(times=ALWAYS)
    begun = time.monotonic()
    with pytest.raises(UnavailableError, match=f"{proxy.url} does not answer"):
        through.search(PLAN)
    assert time.monotonic() - begun < 5
    proxy.clear()
    assert through.search(PLAN)


def test_what_passes_is_asked_again(index, through, proxy):
    expected = index.search(PLAN)
    for after_forward in (False, True):
        proxy.cut(match="_msearch", after_forward=after_forward)
        assert through.search(PLAN) == expected
    for status in (429, 502, 503, 504):
        proxy.fail(status=status, match="_msearch")
    assert through.search(PLAN) == expected
    assert sum("_msearch" in request.path for request in proxy.requests) == 2 + 2 + 5


def test_a_leg_that_was_too_much_is_asked_again(index, through, proxy, hasty):
    busy = {"error": {"type": "es_rejected_execution_exception", "reason": "queue is full"}, "status": 429}

    def reject_second(reply):
        return {**reply, "responses": [reply["responses"][0], busy]}

    proxy.rewrite(reject_second, match="_msearch", times=2)
    assert through.search(PLAN) == index.search(PLAN)
    proxy.rewrite(reject_second, match="_msearch", times=ALWAYS)
    with pytest.raises(UnavailableError, match=r"answered 429 \(queue is full\); it is too busy"):
        through.search(PLAN)


def test_an_answer_that_lacks_a_part_is_no_answer(through, proxy):
    def lose_a_shard(reply):
        for part in reply.get("responses", [reply]):
            part["_shards"] = {"total": 5, "successful": 4, "failed": 1, "failures": [{"reason": {"reason": "oops"}}]}
        return reply

    def time_out(reply):
        for part in reply.get("responses", [reply]):
            part["timed_out"] = True
        return reply

    asks = {
        "_msearch": lambda: through.search(PLAN),
        "_search": lambda: through.papers(["p00001"]),
        "_count": through.count,
    }
    for path, ask in asks.items():
        proxy.rewrite(lose_a_shard, match=f"/{path}")
        with pytest.raises(UnavailableError, match=r"answered for 4 of 5 parts of the index papers only \(oops\)"):
            ask()
        if path != "_count":
            proxy.rewrite(time_out, match=f"/{path}")
            with pytest.raises(UnavailableError, match=r"of the index papers only \(it ran out of time\)"):
                ask()
        ask()


@contextmanager
def without_its_first_shard(server, physical):
    """Take a shard off its node, and let no node take it again."""

    def recover(at_once):
        setting = {"cluster.routing.allocation.node_initial_primaries_recoveries": at_once}
        server.cluster.call("PUT", "/_cluster/settings", {"persistent": setting})

    node = next(iter(server.cluster.call("GET", "/_nodes")["nodes"].values()))["name"]
    cancel = {"index": physical, "shard": 0, "node": node, "allow_primary": True}
    recover(0)
    try:
        server.cluster.call("POST", "/_cluster/reroute", {"commands": [{"cancel": cancel}]})
        yield
    finally:
        recover(None)


@every_version
def test_a_shard_that_is_lost_is_told_and_not_searched_around(server, hasty):
    engine = connect(server.url, Connection(shards=2))
    index = engine.build("papers", SCHEMA, "source")
    index.upsert(documents(40))
    index.finish()
    expected = index.search(PLAN)
    with without_its_first_shard(server, index.physical):
        for ask in (lambda: index.search(PLAN), index.count, lambda: index.papers(["p00001"])):
            with pytest.raises(UnavailableError, match="complete"):
                ask()
    server.cluster.call("GET", f"/_cluster/health/{index.physical}", params={"wait_for_status": "yellow"})
    assert index.search(PLAN) == expected
    assert index.count() == 40


def test_where_the_first_of_two_nodes_is_down_the_second_answers(index, server):
    url = f"http://127.0.0.1:{closed_port()},{server.url}"
    for _ in range(3):
        engine = connect(url)
        found = engine.open("papers")
        assert found.search(PLAN) == index.search(PLAN)
        assert found.count() == 40


def test_where_the_first_of_two_nodes_is_switched_off_the_second_answers(index, server, monkeypatch):
    monkeypatch.setattr(connection, "CONNECTING", 3.0)
    with black_hole() as hole:
        found = connect(f"{hole},{server.url}", Connection(timeout=60.0)).open("papers")
        assert found.search(PLAN) == index.search(PLAN)
        begun = time.monotonic()
        for _ in range(5):
            found.search(PLAN)
        assert time.monotonic() - begun < 9, "the node that is off is tried again and again"
