"""One of two nodes dies: searching and writing go on with the other."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from types import SimpleNamespace

import numpy as np
import pytest

from encoders.models.formats import Format
from search_plugin.contract.plan import Plan, VectorClause
from search_plugin.engines.registry import connect
from search_plugin.request import SearchRequest
from search_plugin.search import search
from tests.engines.conftest import DIMENSION, SCHEMA, documents, publish
from tests.engines.killing import quick
from tests.search_plugin.filters.filtered import exact_filter

pytestmark = pytest.mark.engines_cli
PLAN = Plan("virus lung", (VectorClause("prx", np.ones(DIMENSION, np.float32)),), None, 20)


def free_ports():
    """The first of two ports that are free with the thousandth after each, for the nodes to talk to each other."""
    for port in range(9400, 9499, 2):
        with suppress(OSError):
            for number in (port, port + 1, port + 1000, port + 1001):
                with socket.create_server(("127.0.0.1", number)):
                    pass
            return port
    raise AssertionError("no ports are free")


@pytest.fixture
def engine_of():
    """Starts a cluster of two nodes and connects to both; they are removed after the test."""
    name = f"nodes-{os.getpid()}"
    script = os.environ["SES_TEST_ENGINE_COMMAND"]

    def start(kind):
        port = free_ports()
        options = ("--name", name, "--port", str(port), "--nodes", "2", "--heap", "512m")
        subprocess.run([script, "start", kind, *options], check=True, stdout=subprocess.DEVNULL, env=quick())
        return connect(f"http://127.0.0.1:{port},http://127.0.0.1:{port + 1}")

    yield start
    subprocess.run([script, "remove", name], check=True)


def filled(engine):
    publish(engine, documents(200))
    health = engine.cluster.call("GET", "/_cluster/health", params={"wait_for_status": "green", "timeout": "30s"})
    assert (health["status"], health["number_of_nodes"]) == ("green", 2)
    assert connect(engine.url.split(",")[1]).open("papers").count() == 200
    return engine.open("papers")


def kill_node(engine, *, master):
    """Kill the node that leads the cluster, or the other."""
    leader = engine.cluster.call("GET", "/_cat/master", params={"format": "json"})[0]["node"]
    nodes = engine.cluster.call("GET", "/_nodes/process")["nodes"].values()
    (victim,) = (node["process"]["id"] for node in nodes if (node["name"] == leader) == master)
    os.kill(victim, signal.SIGKILL)


def test_writing_and_searching_go_on_without_one_of_two_nodes(engine_of):
    engine = engine_of("elasticsearch")
    index = filled(engine)
    before = index.search(PLAN)
    added = documents(600)[200:]
    for start in range(0, len(added), 50):
        if start == 150:
            kill_node(engine, master=False)
        assert not index.upsert(added[start : start + 50])
        assert len(index.search(PLAN)["prx"]) == 20
    index.finish()
    assert set(engine.open("papers").ids()) == {document.paper.id for document in documents(600)}
    assert index.search(PLAN) != before
    with engine.lock("anew"):
        fresh = engine.build("anew", SCHEMA, "source")
        assert not fresh.upsert(documents(200))
        fresh.finish()
        engine.publish(fresh)
    assert engine.open("anew").search(PLAN) == before
    assert sorted(engine.names()) == ["anew", "papers"]


def test_searching_goes_on_without_the_node_that_led(engine_of):
    engine = engine_of("elasticsearch9")
    index = filled(engine)
    before = index.search(PLAN)
    kill_node(engine, master=True)
    assert [index.search(PLAN) for _ in range(5)] == [before] * 5
    assert len(index.papers([hit.id for hit in before["prx"]])) == 20


REQUESTS = [
    SearchRequest("virus lung", facets=("venue", "year")),
    SearchRequest("protein", exact=True),
    SearchRequest("virus", filter=exact_filter("year>=2000")),
    SearchRequest("lung protein", mode="lexical"),
    SearchRequest("virus protein", mode="vector", facets=("venue",)),
]
CLIENTS, AFTERWARDS = 3, 20


class Ones:
    """An encoder to which every text is the same."""

    card = SimpleNamespace(name=SCHEMA.model, fingerprint=SCHEMA.fingerprint, papers_by="")

    def encode(self, texts, format_):
        assert format_ is Format.QRY
        return np.ones((len(texts), DIMENSION), np.float32)


def shown(index, request):
    """What users see of a page."""
    page = search(index, request, Ones())
    return [(hit.paper, round(hit.score, 5)) for hit in page.hits], page.facets


@pytest.mark.long
@pytest.mark.parametrize("kind", ["elasticsearch", "elasticsearch9"])
@pytest.mark.parametrize("master", [True, False])
def test_pages_stay_the_same_while_one_of_two_nodes_dies(engine_of, kind, master):
    engine = engine_of(kind)
    filled(engine)
    begun, killed = threading.Barrier(CLIENTS + 1), threading.Event()

    def ask(_):
        index = connect(engine.url).open("papers")
        before = [shown(index, request) for request in REQUESTS]
        assert all(hits for hits, _ in before)
        begun.wait(60)
        left = AFTERWARDS
        while left:
            left -= killed.is_set()
            assert [shown(index, request) for request in REQUESTS] == before
        return before

    with ThreadPoolExecutor(CLIENTS) as pool:
        clients = [pool.submit(ask, number) for number in range(CLIENTS)]
        begun.wait(60)
        kill_node(engine, master=master)
        killed.set()
        first, *others = [client.result() for client in clients]
    assert others == [first] * (CLIENTS - 1)
    assert [shown(connect(engine.url).open("papers"), request) for request in REQUESTS] == first
