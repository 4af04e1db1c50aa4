"""Bulk requests to a cluster that answers what a test wants: what is written, refused, or sent again."""

from __future__ import annotations

import threading
from types import SimpleNamespace

import pytest

from search_plugin.contract.engine import Refused
from search_plugin.engines.cluster import bulk
from search_plugin.engines.cluster.bulk import MISSING, write
from search_plugin.engines.cluster.documents import BulkRequest
from search_plugin.engines.cluster.errors import BusyError, ClusterError, UnansweredError, unanswered
from search_plugin.engines.cluster.product import Product
from search_plugin.engines.cluster.transport import ONCE, RetryPolicy

URL = "http://cluster:9200"
TAKEN = {"index": {"status": 201, "result": "created"}}


def item(status, kind, reason="why."):
    return {"index": {"status": status, "error": {"type": kind, "reason": reason}}}


def request(*ids, lines=2):
    return BulkRequest(ids, tuple(f"{id_} {at}".encode() for id_ in ids for at in range(lines)))


class Answering:
    """A cluster that answers each request by a function of its ids, or raises what that returns."""

    url = URL
    product = Product("opensearch", "3.6.0", (3, 6))
    connection = SimpleNamespace(timeout=0.2)
    writing = RetryPolicy(0.3, 0.01)

    def __init__(self, answer=lambda _ids: [TAKEN], lines=2):
        self.answer, self.lines = answer, lines
        self.asked, self.params = [], None
        self.lock = threading.Lock()

    def call(self, method, path, body, *, params, retry):
        lines = body.split(b"\n")
        assert (method, lines[-1], retry) == ("POST", b"", ONCE)
        ids = [line.decode().split()[0] for line in lines[: -1 : self.lines]]
        with self.lock:
            self.asked.append((path, *ids))
            self.params = params
            made = self.answer(ids)
        if isinstance(made, Exception):
            raise made
        return {"items": made * (len(ids) if len(made) == 1 else 1)}

    def requests(self):
        return [ids for _, *ids in self.asked]


def test_every_batch_is_written_once_through_the_alias():
    cluster = Answering()
    batches = [request(f"a{at}", f"b{at}") for at in range(7)]
    assert write(cluster, "papers", batches) == []
    assert sorted(cluster.requests()) == [[f"a{at}", f"b{at}"] for at in range(7)]
    assert {path for path, *_ in cluster.asked} == {"/papers/_bulk"}
    assert cluster.params == {"require_alias": True}
    write(cluster, "", batches[:1], loading=True)
    assert (cluster.asked[-1][0], cluster.params) == ("/_bulk", {"require_alias": True, "refresh": True})


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (item(400, "mapper_parsing_exception", "bad  date."), "OpenSearch 3.6.0 would not take it: bad date"),
        (item(500, "whatever"), "OpenSearch 3.6.0 would not take it: why"),
        (item(404, "document_missing_exception"), MISSING),
    ],
)
def test_a_document_that_is_refused_is_told_and_not_sent_again(answer, reason):
    cluster = Answering(lambda ids: [answer if id_ == "bad" else TAKEN for id_ in ids])
    assert write(cluster, "papers", [request("a", "bad", "b")]) == [Refused("bad", reason)]
    assert cluster.requests() == [["a", "bad", "b"]]


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (item(500, "whatever"), r"answered 500 \(why\)"),  # if none is taken, the server is at fault
        (item(400, "index_closed_exception"), "has closed the index"),
        (item(403, "security_exception"), r"does not allow this \(why\)"),
    ],
)
def test_what_every_document_would_cause_ends_the_write(answer, told):
    with pytest.raises(ClusterError, match=told):
        write(Answering(lambda _ids: [answer]), "papers", [request("a", "b")])


def test_documents_that_a_busy_cluster_did_not_take_are_sent_again_by_themselves():
    times = []

    def answer(ids):
        times.append(ids)
        return [item(429, "es_rejected_execution_exception") if len(times) < 3 and id_ > "a" else TAKEN for id_ in ids]

    assert write(Answering(answer), "papers", [request("a", "b", "c")]) == []
    assert times == [["a", "b", "c"], ["b", "c"], ["b", "c"]]
    busy = Answering(lambda _ids: [item(429, "es_rejected_execution_exception", "queue is  full.")])
    with pytest.raises(BusyError) as caught:
        write(busy, "papers", [request("a", "b")])
    assert caught.value.sentence.startswith(f"{URL} is too busy for 2 documents (queue is full)")
    assert caught.value.status == 429
    assert len(busy.asked) > 1


@pytest.mark.parametrize(("unchanged", "refused"), [("", []), ("It is as it was.", ["a"])])
def test_what_an_update_left_as_it_was_is_told_if_that_is_asked(unchanged, refused):
    noop = {"update": {"status": 200, "result": "noop"}}
    cluster = Answering(lambda ids: [noop if id_ == "a" else TAKEN for id_ in ids])
    found = write(cluster, "papers", [request("a", "b")], unchanged=unchanged)
    assert found == [Refused(id_, unchanged) for id_ in refused]


def test_an_answer_for_other_documents_ends_the_write():
    with pytest.raises(ClusterError, match="answered for 3 of 2 documents; read its log"):
        write(Answering(lambda _ids: [TAKEN] * 3), "papers", [request("a", "b")])


@pytest.mark.parametrize("lines", [1, 2])
def test_a_request_that_is_too_large_is_sent_in_halves(lines):
    cluster = Answering(lambda ids: ClusterError("too large", 413) if len(ids) > 2 or "big" in ids else [TAKEN], lines)
    refused = write(cluster, "papers", [request("a", "b", "c", "big", "d", lines=lines)])
    assert refused == [Refused("big", "It is larger than a request to the cluster may be.")]
    assert cluster.requests() == [
        ["a", "b", "c", "big", "d"],
        ["a", "b", "c"],
        ["a", "b"],
        ["c"],
        ["big", "d"],
        ["big"],
        ["d"],
    ]
    with pytest.raises(ClusterError, match="no"):
        write(Answering(lambda _ids: ClusterError("no", 412)), "papers", [request("a", "b")])


def test_of_a_request_without_an_answer_what_is_not_stored_is_sent_in_halves():
    stored, looks = set(), []

    def answer(ids):
        if len(ids) > 2:
            stored.update(("a", "c"))
            return unanswered(URL)
        return [TAKEN]

    def there(sent):
        looks.append(sent.ids)
        return stored & set(sent.ids)

    cluster = Answering(answer)
    assert write(cluster, "papers", [request("a", "b", "c", "d", "e")], stored=there) == []
    assert looks[:2] == [("a", "b", "c", "d", "e"), ("b", "d", "e")]
    assert cluster.requests() == [["a", "b", "c", "d", "e"], ["b", "d"], ["e"]]


def test_a_request_without_an_answer_that_is_stored_whole_is_done():
    cluster = Answering(lambda _ids: unanswered(URL))
    assert write(cluster, "papers", [request("a", "b")], stored=lambda sent: set(sent.ids)) == []
    assert cluster.requests() == [["a", "b"]]
    with pytest.raises(UnansweredError, match="does not answer in time"):
        write(cluster, "papers", [request("a")], stored=lambda _sent: set())
    with pytest.raises(UnansweredError):
        write(cluster, "papers", [request("a", "b")])


def test_a_failed_write_prepares_no_more(monkeypatch):
    prepared = []

    def batches():
        for at in range(50):
            prepared.append(at)
            yield request(f"a{at}")

    monkeypatch.setattr(bulk, "WORKERS", 1)
    with pytest.raises(ClusterError, match="no"):
        write(Answering(lambda _ids: ClusterError("no", 400)), "papers", batches())
    assert len(prepared) == 2  # one that is sent, and the next one
