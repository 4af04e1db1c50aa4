"""Requests to a cluster that is tried again where that helps, without a server."""

from __future__ import annotations

from threading import Event

import pytest

from search_plugin.contract.connection import Connection
from search_plugin.engines.cluster import transport
from search_plugin.engines.cluster.errors import INDEX_NOT_FOUND, BusyError, ClusterError
from search_plugin.engines.cluster.product import Product
from search_plugin.engines.cluster.transport import ONCE, Cluster, RetryPolicy, with_retries

QUICK = RetryPolicy(0.5, 0.001)
GONE = ClusterError("no index", 404, INDEX_NOT_FOUND)
STATE = "/_cluster/state/blocks"


def made(monkeypatch, answers, kind="opensearch", hosts="http://h:1"):
    """A cluster whose client gives these answers, or raises them, and what it was asked."""
    asked, left = [], list(answers)

    def send(method, path, params, data):
        asked.append((method, path, params, data))
        answer = left.pop(0) if len(left) > 1 else left[0]
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setattr(transport, "probe", lambda _hosts, _connection: Product(kind, "3.6.0", (3, 6)))
    monkeypatch.setattr(transport, "open_client", lambda *_given: send)
    return Cluster(hosts, Connection(patience=7)), asked


def test_bodies_are_sent_as_json_or_as_they_are(monkeypatch):
    cluster, asked = made(monkeypatch, [{"took": 1}])
    assert cluster.call("POST", "/x/_search", {"size": 1}) == {"took": 1}
    cluster.call("POST", "/_bulk", b"{}\n", params={"refresh": True})
    cluster.call("GET", "/")
    assert asked == [
        ("POST", "/x/_search", {}, b'{"size":1}'),
        ("POST", "/_bulk", {"refresh": True}, b"{}\n"),
        ("GET", "/", {}, None),
    ]
    assert (cluster.writing.seconds, cluster.lacking) == (7, set())


def test_a_busy_cluster_is_asked_again_and_other_errors_are_told_at_once(monkeypatch):
    cluster, asked = made(monkeypatch, [BusyError("busy"), BusyError("busy"), {"took": 1}])
    assert cluster.call("GET", "/", retry=QUICK) == {"took": 1}
    assert len(asked) == 3
    cluster, asked = made(monkeypatch, [ClusterError("broken", 500), {}])
    with pytest.raises(ClusterError, match="broken"):
        cluster.call("GET", "/", retry=QUICK)
    assert len(asked) == 1


def test_a_reply_is_checked_and_may_be_asked_for_again(monkeypatch):
    cluster, asked = made(monkeypatch, [{"at": 1}, {"at": 2}])

    def check(reply):
        if reply["at"] == 1:
            raise BusyError("incomplete")

    assert cluster.call("GET", "/", retry=QUICK, check=check) == {"at": 2}
    assert len(asked) == 2


@pytest.mark.parametrize(("hosts", "attempts"), [("http://a:1", 1), ("http://a:1,http://b:1,http://c:1", 3)])
def test_every_node_is_tried_however_long_one_takes(monkeypatch, hosts, attempts):
    cluster, asked = made(monkeypatch, [BusyError("lost")], hosts=hosts)
    with pytest.raises(BusyError, match="lost"):
        cluster.call("GET", "/", retry=ONCE)
    assert len(asked) == attempts


@pytest.mark.parametrize(
    ("blocks", "recovering"),
    [({"blocks": {"global": {"1": {}}}}, True), ({"blocks": {"global": {"4": {}}}}, False), ({"blocks": {}}, False),
     ({}, False), (ClusterError("forbidden", 403), False)],
)  # fmt: skip
def test_an_index_that_is_not_there_yet_is_waited_for_while_opensearch_starts(monkeypatch, blocks, recovering):
    cluster, asked = made(monkeypatch, [GONE, blocks, {"took": 1}])
    if recovering:
        with pytest.raises(BusyError) as caught:
            cluster.call("POST", "/x/_search", {}, retry=ONCE)
        assert (caught.value.status, caught.value.hint) == (503, "wait, and try again")
        assert caught.value.sentence == "http://h:1 is starting"
    assert cluster.call("POST", "/x/_search", {}, retry=ONCE) == {"took": 1}
    states = [one for one in asked if one[1] == STATE]
    assert states == [("GET", STATE, {"local": True}, None)]
    assert len(asked) == 3


def test_an_index_that_is_gone_is_told(monkeypatch):
    cluster, asked = made(monkeypatch, [GONE, {}, GONE])
    with pytest.raises(ClusterError, match="no index"):
        cluster.call("POST", "/x/_search", {})
    assert len(asked) == 3
    cluster, asked = made(monkeypatch, [GONE], kind="elasticsearch")
    with pytest.raises(ClusterError, match="no index"):
        cluster.call("POST", "/x/_search", {})
    assert len(asked) == 1


def test_retries_end_when_they_are_stopped_or_their_time_is_over():
    stopped, tried = Event(), []

    def busy():
        tried.append(len(tried))
        if len(tried) == 3:
            stopped.set()
        raise BusyError("busy")

    with pytest.raises(BusyError):
        with_retries(RetryPolicy(60.0, 0.001), busy, stopped)
    assert len(tried) == 3
    with pytest.raises(BusyError):
        with_retries(ONCE, busy)
    assert len(tried) == 4
    with pytest.raises(BusyError):
        with_retries(ONCE, busy, attempts=2)
    assert len(tried) == 6


def test_the_wait_between_two_attempts_doubles_from_a_tenth_of_a_second_up_to_the_longest(monkeypatch):
    class Hurried(Event):
        def wait(self, timeout=None):
            waited.append(timeout)

    def busy():
        raise BusyError("busy", 429)

    waited = []
    monkeypatch.setattr("random.uniform", lambda _least, most: most)
    with pytest.raises(BusyError):
        with_retries(RetryPolicy(0.0, 1.0), busy, Hurried(), attempts=7)
    assert waited == pytest.approx([0.1, 0.2, 0.4, 0.8, 1.0, 1.0])
