"""Requests that fail while papers are written: nothing lost, nothing doubled, and told where it does not pass."""

from __future__ import annotations

import json
import time
from collections import Counter
from dataclasses import replace

import pytest

from corpora.errors import UnavailableError
from indexer.pipeline import index_corpus
from search_plugin.contract.connection import Connection
from search_plugin.engines.cluster import bulk
from search_plugin.engines.registry import connect
from tests.engines.conftest import SCHEMA
from tests.engines.writing import IDS, PAGE, WRITTEN, check_whole, fill, patient
from tests.faults import ALWAYS
from tests.indexer.jobs import make_job


@pytest.fixture
def small_batches(monkeypatch):
    """Bulk requests of about ten papers."""
    monkeypatch.setattr(bulk, "BATCH_BYTES", 8_000)


def sent(proxy):
    """How many times each paper was sent."""
    lines = [line for request in proxy.requests if "_bulk" in request.path for line in request.body.splitlines()]
    return Counter(json.loads(line)["index"]["_id"] for line in lines if line.startswith(b'{"index"'))


def test_refusals_and_cuts_that_pass_lose_and_double_nothing(server, proxy, small_batches):
    for fault in ({"status": 429, "times": 3}, {"status": 503}, {"status": 502, **PAGE}, {"status": 504, **PAGE}):
        proxy.fail(match="_bulk", **fault)
    proxy.cut(match="_bulk", times=2)
    proxy.cut(match="_bulk", times=2, after_forward=True)
    check_whole(fill(hasty(proxy)))
    assert min(sent(proxy).values()) == 1 < max(sent(proxy).values())


def test_of_a_bulk_reply_only_what_was_too_much_is_sent_again(server, proxy):
    busy = {"type": "es_rejected_execution_exception", "reason": "rejected execution: queue capacity reached"}

    def reject_every_third(reply):
        for item in reply["items"][::3]:
            item["index"] = {"_id": item["index"]["_id"], "status": 429, "error": busy}
        return {**reply, "errors": True}

    proxy.rewrite(reject_every_third, match="_bulk", times=2)
    check_whole(fill(patient(proxy)))
    again = [id_ for id_, times in sent(proxy).items() if times > 1]
    assert again == IDS[::3]
    assert Counter(sent(proxy).values()) == {1: 80, 2: 26, 3: 14}


def hasty(proxy):
    return connect(proxy.url, Connection(timeout=1.0, patience=20))


def late(request, forward):
    """Answer after the client has given up."""
    reply = forward()
    time.sleep(1.5)
    return reply


def lost(request, forward):
    """Keep a request for ever."""
    time.sleep(1.5)


def test_what_a_slow_server_has_done_is_not_sent_again(server, proxy, small_batches):
    server.build("papers", SCHEMA, "source")
    proxy.handle(late, match="_bulk", times=2)
    # Nor what it begins only when the client has given up.
    proxy.delay(1.5, match="_bulk")
    check_whole(fill(hasty(proxy)))
    assert set(sent(proxy).values()) == {1}
    assert any("_mget" in request.path for request in proxy.requests)


def test_what_a_slow_server_has_not_done_is_sent_again_in_halves(server, proxy):
    proxy.handle(lost, match="_bulk")
    check_whole(fill(hasty(proxy)))
    bulks = [len(request.body.splitlines()) // 2 for request in proxy.requests if "_bulk" in request.path]
    assert bulks == [120, 60, 60]


def test_a_server_that_is_too_slow_for_large_requests_gets_smaller_ones(server, proxy):
    def slow(request, forward):
        return lost(request, forward) if len(request.body.splitlines()) > 80 else forward()

    proxy.handle(slow, match="_bulk", times=ALWAYS)
    check_whole(fill(hasty(proxy)))
    bulks = [len(request.body.splitlines()) // 2 for request in proxy.requests if "_bulk" in request.path]
    assert bulks == [120, 60, 30, 30, 60, 30, 30]


def test_a_paper_that_was_stored_otherwise_before_counts_as_missing(server, proxy):
    index = fill(hasty(proxy))
    changed = [replace(one, paper=replace(one.paper, title=f"New {one.paper.title}")) for one in WRITTEN[:30]]
    changed = [replace(one, content_hash=one.paper.content_hash()) for one in changed]
    moved = [replace(one, paper=replace(one.paper, origins=("elsewhere",))) for one in WRITTEN[30:40]]
    proxy.handle(lost, match="_bulk")
    assert not index.upsert([*changed, *moved, *WRITTEN[40:]])
    index.finish()
    found = index.papers(IDS)
    assert [found[id_].title.startswith("New ") for id_ in IDS] == [True] * 30 + [False] * 90
    assert [found[id_].origins for id_ in IDS[30:40]] == [("elsewhere",)] * 10
    bulks = [len(request.body.splitlines()) // 2 for request in proxy.requests if "_bulk" in request.path]
    # The 80 papers that are there as they were sent are not sent again.
    assert bulks == [120, 120, 20, 20]


def test_a_server_that_never_answers_is_told(server, proxy):
    index = server.build("papers", SCHEMA, "source")
    assert index.count() == 0
    engine = connect(proxy.url, Connection(timeout=0.5, patience=1))
    proxy.delay(5.0, match="papers.v1", times=ALWAYS)
    begun = time.monotonic()
    with pytest.raises(UnavailableError, match=f"{proxy.url} does not answer in time; see how busy it is"):
        engine.build("papers", SCHEMA, "source").upsert(WRITTEN)
    assert time.monotonic() - begun < 15


@pytest.mark.parametrize("fault", ["429", "item", "cut"])
def test_a_storm_that_outlasts_patience_is_told_and_gone_on_with(server, proxy, home, fault):
    job = make_job(home, home / "corpus.jsonl")
    bulks = 0

    def reject(reply):
        nonlocal bulks
        bulks += 1
        if bulks > 1:
            for item in reply["items"]:
                item["index"] |= {"status": 429, "error": {"type": "busy", "reason": "queue capacity reached"}}
        return reply

    if fault == "429":
        proxy.fail(status=429, match="_bulk", times=ALWAYS)
    elif fault == "cut":
        proxy.cut(match="_bulk", times=ALWAYS)
    else:
        proxy.rewrite(reject, match="_bulk", times=ALWAYS)
    begun = time.monotonic()
    told = "does not answer" if fault == "cut" else "too busy .*try again"
    with pytest.raises(UnavailableError, match=told) as caught:
        index_corpus(job, patient(proxy, 1.0))
    assert time.monotonic() - begun < 15
    assert (caught.value.kind, proxy.url in str(caught.value)) == ("unavailable", True)
    assert list(server.names()) == []
    proxy.clear()
    report = index_corpus(job, patient(proxy))
    assert (report.new + report.unchanged, report.papers, report.rejected) == (120, 120, 0)
    assert report.unchanged >= (30 if fault == "item" else 0)


def test_requests_that_were_done_and_not_answered_are_not_taken_for_failures(server, proxy):
    engine = patient(proxy)
    for generation in (1, 2, 3):
        for request in ("PUT /ses.locks/", f"PUT /ses.papers.v{generation}?", ".writing", "_refresh", "_settings"):
            proxy.cut(match=request, after_forward=True)
        for request in ("_mapping", "POST /_aliases", "DELETE /ses.papers"):
            proxy.cut(match=request, after_forward=True)
        with engine.lock("papers"):
            index = engine.build("papers", SCHEMA, f"source {generation}")
            index.upsert(WRITTEN)
            check_whole(index)
            engine.publish(index)
        proxy.clear()
        assert engine.open("papers").generation == generation
    assert engine.rollback("papers").generation == 2
    assert sorted(server.cluster.call("GET", "/ses.papers.v*")) == ["ses.papers.v2", "ses.papers.v3"]


def test_a_build_that_could_not_be_published_resumes_as_it_is(server, proxy, home):
    job = make_job(home, home / "corpus.jsonl")
    proxy.fail(status=429, match="POST /_aliases", times=ALWAYS)
    with pytest.raises(UnavailableError, match="too busy"):
        index_corpus(job, patient(proxy, 1.0))
    proxy.clear()
    report = index_corpus(job, patient(proxy))
    assert (report.generation, report.new, report.unchanged) == (1, 0, 120)


STARTING = {"1": {"description": "state not recovered / initialized", "retryable": True}}


@pytest.mark.parametrize("server", [pytest.param("opensearch", marks=pytest.mark.opensearch)], indirect=True)
@pytest.mark.parametrize("path", ["POST /_aliases", "_refresh", "_settings", "PUT /ses.papers.v1/_mapping"])
def test_a_server_that_does_not_know_its_index_yet_is_asked_again(server, proxy, home, path):
    missing = {"error": {"type": "index_not_found_exception", "reason": "no such index [ses.papers.v1]"}, "status": 404}
    # It says so before it has read its state, and once more right before that is done.
    proxy.fail(status=404, match=path, times=2, body=json.dumps(missing).encode())
    told = []

    def starting(reply):
        if told or not any(path in f"{one.method} {one.path}" for one in proxy.requests):
            return reply
        told.append(reply)
        return {**reply, "blocks": {"global": STARTING}}

    proxy.rewrite(starting, match="_cluster/state/blocks", times=ALWAYS)
    report = index_corpus(make_job(home, home / "corpus.jsonl"), patient(proxy))
    assert (report.papers, list(server.names())) == (120, ["papers"])
    assert told
