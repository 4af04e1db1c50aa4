"""The right to write an index, in a cluster that keeps documents in memory."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time

import pytest

from corpora.errors import ConflictError
from search_plugin.engines.cluster import lease
from search_plugin.engines.cluster.errors import INDEX_NOT_FOUND, BusyError, ClusterError
from search_plugin.engines.cluster.lease import Lease, here, hold, place_of, seen_dead, silent
from search_plugin.engines.cluster.transport import RetryPolicy

LOCK = "/ses.locks/_doc/papers"
BLOCKED = "has a block on it (index write) that somebody has set; remove index.blocks.write"


class Memory:
    """A cluster that keeps leases, with the numbers by which writes are conditional."""

    url = "http://cluster:9200"
    writing = RetryPolicy(0.0, 0.0)

    def __init__(self):
        self.there, self.blocked, self.number = False, False, 0
        self.held, self.asked = {}, []

    def hold(self, name="papers", **holder):
        self.there, self.number = True, self.number + 1
        given = {"holder": "another", "host": "elsewhere 1 2", "process": 7, "renewed": time.time(), **holder}
        self.held[f"/ses.locks/_doc/{name}"] = {"_seq_no": self.number, "_primary_term": 1, "_source": given}

    def call(self, method, path, body=None, *, params=None, retry=None):
        self.asked.append(f"{method} {path}")
        match method, path.split("/")[2:]:
            case "PUT", []:
                if self.there:
                    raise ClusterError("there", 400, "resource_already_exists_exception")
                self.there, self.mapping = True, body
            case "DELETE", []:
                self.there, self.held = False, {}
            case "PUT", ["_block", "write"]:
                self.blocked = True
            case "PUT", ["_settings"]:
                assert body == {"index.blocks.write": None}
                if not self.there:
                    raise ClusterError("gone", 404, INDEX_NOT_FOUND)
                self.blocked = False
            case "POST", ["_refresh"]:
                return {}
            case "POST", ["_search"]:
                return {"hits": {"hits": list(self.held.values())[: body["size"]]}}
            case _, ["_doc", name]:
                return self.document(method, path, name, body, params or {})
        return {}

    def document(self, method, path, name, body, params):
        if not self.there:
            raise ClusterError("gone", 404, INDEX_NOT_FOUND)
        held = self.held.get(path)
        if method == "GET":
            if not held:
                raise ClusterError("none", 404)
            return held
        if self.blocked:
            raise ClusterError(BLOCKED, 403)
        same = held and {"if_seq_no": held["_seq_no"], "if_primary_term": held["_primary_term"]} == params
        if not (same or (params == {"op_type": "create"} and not held)):
            raise ClusterError("changed", 409)
        if method == "DELETE":
            return self.held.pop(path)
        self.hold(name, **body)
        return self.held[path]


@pytest.fixture
def cluster(monkeypatch):
    """A cluster in which ses has another index."""
    monkeypatch.setattr(lease, "find_indexes", lambda _cluster, pattern: [pattern])
    return Memory()


def test_a_writer_is_known_while_it_writes_and_forgotten_after(cluster):
    with hold(cluster, "papers") as one:
        (held,) = cluster.held.values()
        source = held["_source"]
        assert (source["host"], source["process"]) == (here(), os.getpid())
        assert abs(time.time() - source["renewed"]) < 60
        assert one.keeper in {thread.name for thread in threading.enumerate()}
        one.check()
    assert cluster.held == {}
    assert one.keeper not in {thread.name for thread in threading.enumerate()}
    assert cluster.asked == ["PUT /ses.locks", f"GET {LOCK}", f"PUT {LOCK}", f"GET {LOCK}", f"DELETE {LOCK}"]
    assert cluster.mapping["mappings"]["properties"].keys() == source.keys()
    assert cluster.mapping["mappings"]["dynamic"] == "strict"


def test_a_second_writer_is_refused_and_told_where_the_first_is(cluster):
    cluster.hold()
    before = dict(cluster.held)
    with pytest.raises(ConflictError) as caught, hold(cluster, "papers"):
        pass
    assert caught.value.sentence == "Another run is writing the index papers (process 7 on elsewhere)"
    assert caught.value.hint == "wait until it is done, or choose another <index>"
    assert cluster.held == before
    with hold(cluster, "other"):
        assert len(cluster.held) == 2


def test_of_two_that_begin_at_once_the_second_is_refused(cluster):
    create = cluster.document

    def slower(method, *given):
        if method == "PUT":
            cluster.hold()
        return create(method, *given)

    cluster.document = slower
    with pytest.raises(ConflictError, match=r"index papers \(it has just begun\)"), hold(cluster, "papers"):
        pass


def test_a_lease_whose_answer_was_lost_is_held(cluster):
    create = cluster.document

    def lost(method, *given):
        made = create(method, *given)
        if method == "PUT" and cluster.number == 1:
            raise ClusterError("changed", 409)  # the second attempt finds what the first one wrote
        return made

    cluster.document = lost
    with hold(cluster, "papers") as one:
        one.confirm()
    assert cluster.held == {}


@pytest.mark.parametrize("process", ["ended", "own"])
def test_a_writer_of_this_machine_that_has_ended_is_followed_at_once(cluster, process):
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    cluster.hold(host=here(), process=ended.pid if process == "ended" else os.getpid())
    with hold(cluster, "papers"):
        (held,) = cluster.held.values()
        assert held["_source"]["holder"] != "another"


@pytest.mark.parametrize("renewed_again", [False, True])
def test_a_silent_writer_elsewhere_is_followed_if_it_stays_silent(cluster, monkeypatch, renewed_again):
    monkeypatch.setattr(lease, "SECONDS", 0.2)
    cluster.hold(renewed=time.time() - 0.3)
    waits = []

    def wait(one, seconds):
        waits.append(seconds)
        if renewed_again:
            cluster.hold()

    made = Lease(cluster, "papers")
    monkeypatch.setattr(made._done, "wait", lambda seconds: wait(made, seconds))
    if renewed_again:
        with pytest.raises(ConflictError, match="process 7 on elsewhere"):
            made.take()
    else:
        made.take()
    assert waits == [pytest.approx(1.5 * 0.2 / 4)]


def test_a_lease_is_renewed_in_the_background_until_another_has_it(cluster, monkeypatch):
    monkeypatch.setattr(lease, "SECONDS", 0.2)
    with hold(cluster, "papers") as one:
        first = cluster.number
        for _ in range(200):
            if cluster.number > first + 1:
                break
            time.sleep(0.02)
        assert cluster.number > first + 1
        cluster.hold()  # taken over
        with pytest.raises(ConflictError) as caught:
            one.confirm()
        with pytest.raises(ConflictError, match="Another run has taken over the index papers, after this one was cut"):
            one.check()
        assert caught.value.hint == "wait until it is done, and index the same papers again"
    assert [one["_source"]["holder"] for one in cluster.held.values()] == ["another"]


@pytest.mark.parametrize(("since", "asks"), [(29, False), (31, True)])
def test_a_lease_is_confirmed_when_it_was_not_renewed_for_half_of_its_time(cluster, monkeypatch, since, asks):
    with hold(cluster, "papers") as one:
        asked, now = len(cluster.asked), time.time
        monkeypatch.setattr(lease.time, "time", lambda: now() + since)
        one.check()
        assert (len(cluster.asked) > asked) == asks
        monkeypatch.undo()
        monkeypatch.setattr(lease, "find_indexes", lambda _cluster, pattern: [pattern])


def test_what_goes_wrong_in_the_cluster_is_no_lost_lease(cluster):
    with hold(cluster, "papers") as one:
        document, cluster.document = cluster.document, _failing
        with pytest.raises(ClusterError, match="broken"):
            one.confirm()
        cluster.document = document
        one.confirm()
    cluster.document = _failing
    with pytest.raises(ClusterError, match="broken"), hold(cluster, "papers"):
        pass


def _failing(*_given):
    raise ClusterError("broken", 500)


def test_a_lease_that_can_not_be_given_back_is_left(cluster):
    with hold(cluster, "papers"):

        def lost(*_given):
            raise BusyError("lost")

        cluster.document = lost
    assert len(cluster.held) == 1


def test_the_index_of_leases_goes_with_the_last_index(cluster, monkeypatch):
    monkeypatch.setattr(lease, "find_indexes", lambda *_given: [])
    with hold(cluster, "papers"):
        pass
    assert not cluster.there
    look = ["POST /ses.locks/_refresh", "POST /ses.locks/_search"]
    removal = ["PUT /ses.locks/_block/write", *look, "DELETE /ses.locks", "PUT /ses.locks/_settings"]
    assert cluster.asked[-7:] == [*look, *removal]


@pytest.mark.parametrize(("seconds", "kept"), [(599, True), (601, False)])
def test_a_lease_that_somebody_holds_keeps_the_index(cluster, monkeypatch, seconds, kept):
    monkeypatch.setattr(lease, "find_indexes", lambda *_given: [])
    with hold(cluster, "papers"):
        cluster.hold("other", renewed=time.time() - seconds)
    assert cluster.there == kept
    assert not cluster.blocked or not kept


def test_an_index_that_is_being_removed_is_waited_for(cluster, monkeypatch):
    monkeypatch.setattr(lease, "_WAIT", 0.0)
    cluster.there = cluster.blocked = True
    with hold(cluster, "papers"):  # whoever removed it has died: it is opened again
        assert not cluster.blocked
        assert len(cluster.held) == 1
    refused = cluster.asked.count(f"PUT {LOCK}")
    assert refused == 51


@pytest.mark.parametrize(
    ("holder", "place"),
    [
        ({"host": "elsewhere 1 2", "process": 7}, "process 7 on elsewhere"),
        ({"host": "elsewhere"}, "process None on elsewhere"),
        ({"host": "", "process": 7}, "it has just begun"),
        ({}, "it has just begun"),
    ],
)
def test_the_place_of_a_writer(holder, place):
    assert place_of(holder) == place


@pytest.mark.parametrize(
    ("holder", "dead"),
    [
        ({"host": "elsewhere", "process": 2**22 + 1}, False),
        ({"host": here(), "process": os.getppid()}, False),
        ({"host": here(), "process": 2**22 + 1}, True),
        ({"host": here(), "process": 2**70}, False),
        ({"host": here(), "process": "7"}, False),
        ({"host": here()}, False),
        ({"host": here(), "process": os.getpid(), "holder": "x"}, True),
    ],
)
def test_a_writer_that_has_ended_is_seen_on_its_own_machine(holder, dead):
    assert seen_dead(holder) == dead


@pytest.mark.parametrize(
    ("renewed", "is_silent"),
    [(940.0, True), (941.0, False), (1059, False), (1060.0, True), (None, True), ("1000", True)],
)
def test_a_writer_is_silent_after_a_minute_by_either_clock(monkeypatch, renewed, is_silent):
    monkeypatch.setattr(lease.time, "time", lambda: 1000.0)
    assert silent({"renewed": renewed}, 60.0) == is_silent
