"""Whatever fails while papers are written: nothing lost, nothing doubled, and told so that somebody can act on it."""

from __future__ import annotations

import json
import time
from collections import Counter
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest

from corpora.errors import InputError, UnavailableError
from corpora.paper import Accepted
from indexer.pipeline import index_corpus
from search_plugin.engines.cluster import bulk
from search_plugin.engines.connection import Connection
from search_plugin.engines.registry import connect
from tests.conftest import server_url
from tests.engines.conftest import SCHEMA, documents, empty
from tests.faults import ALWAYS
from tests.indexer.jobs import make_job
from tests.ses.test_cli import ses
from tests.tiny import make_model, papers, write_jsonl

WRITTEN = documents(120)
IDS = [document.paper.id for document in WRITTEN]
PHYSICAL = "ses.papers.v1"
PAGE = {"body": b"<html>Sorry</html>", "headers": {"content-type": "text/html"}}
"""As whatever stands before a server answers in its place."""


@pytest.fixture
def small_batches(monkeypatch):
    """Bulk requests of about ten papers."""
    monkeypatch.setattr(bulk, "BATCH_BYTES", 8_000)


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A folder with a model and a corpus of 120 papers."""
    folder = tmp_path_factory.mktemp("home")
    make_model(folder / "model")
    write_jsonl(folder / "corpus.jsonl", [document.paper for document in WRITTEN])
    return folder


def patient(proxy, seconds=20.0):
    return connect(proxy.url, Connection(patience=seconds))


def fill(engine, expected=()):
    index = engine.build("papers", SCHEMA, "source")
    assert [refusal.id for refusal in index.upsert(WRITTEN)] == list(expected)
    return index


def check_whole(index, written=WRITTEN):
    index.finish()
    assert index.count() == index.count("prx") == index.count("clf") == len(written)
    ids = [document.paper.id for document in written]
    assert index.hashes(ids) == {document.paper.id: document.content_hash for document in written}
    assert index.papers(ids) == {document.paper.id: document.paper for document in written}


def sent(proxy):
    """How many times each paper was sent."""
    lines = [line for request in proxy.requests if "_bulk" in request.path for line in request.body.splitlines()]
    return Counter(json.loads(line)["index"]["_id"] for line in lines if line.startswith(b'{"index"'))


def test_refusals_and_cuts_that_pass_lose_and_double_nothing(server, proxy, small_batches):
    for fault in ({"status": 429, "times": 3}, {"status": 503}, {"status": 502, **PAGE}, {"status": 504, **PAGE}):
        proxy.fail(match="_bulk", **fault)
    proxy.cut(match="_bulk", times=2)
    proxy.cut(match="_bulk", times=2, after_forward=True)
    check_whole(fill(patient(proxy)))
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


def test_slow_answers_are_waited_for_or_asked_again(server, proxy, small_batches):
    server.build("papers", SCHEMA, "source")
    proxy.delay(3.0, match="_bulk", times=2)
    hasty = connect(proxy.url, Connection(timeout=2.0, patience=20))
    check_whole(fill(hasty))
    assert Counter(sent(proxy).values())[2] > 10


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
    told = "does not answer" if fault == "cut" else "too busy .*run the same command again"
    with pytest.raises(UnavailableError, match=told) as caught:
        index_corpus(job, patient(proxy, 1.0))
    assert time.monotonic() - begun < 15
    assert (caught.value.exit_code, proxy.url in str(caught.value)) == (3, True)
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


@pytest.mark.parametrize("block", ["read_only", "read_only_allow_delete", "write"])
def test_a_block_is_told_at_once_and_gone_on_after(server, proxy, home, block):
    engine = connect(proxy.url)  # as patient as it is unless told otherwise: a minute
    job = make_job(home, home / "corpus.jsonl", bulk_bytes=1)
    seen = 0

    def block_it(reply):
        nonlocal seen
        seen += 1
        if seen == 2:
            set_block(server, block, on=True)
        return reply

    proxy.rewrite(block_it, match="_bulk", times=ALWAYS)
    begun = time.monotonic()
    told = "disk is nearly full; free some space" if "delete" in block else f"remove index.blocks.{block}"
    try:
        with pytest.raises(UnavailableError, match=f"{told}.* run the same command again: it goes on where it stopped"):
            index_corpus(job, engine)
        assert time.monotonic() - begun < 10
    finally:
        set_block(server, block, on=False)
    report = index_corpus(job, engine)
    assert (report.papers, report.rejected) == (120, 0)
    assert report.unchanged >= 60


def set_block(server, name, *, on):
    server.cluster.call("PUT", f"/{PHYSICAL}/_settings", {f"index.blocks.{name}": on or None})


def test_an_index_that_is_closed_is_not_the_documents_fault(server, proxy):
    index = fill(server)
    server.cluster.call("POST", f"/{PHYSICAL}/_close")
    with pytest.raises(UnavailableError, match="closed"):
        index.upsert(WRITTEN)
    server.cluster.call("POST", f"/{PHYSICAL}/_open")
    check_whole(index)


def poisoned():
    """A corpus in which the 51st, 52nd and 53rd paper are none that a cluster takes."""
    good = [document.paper for document in WRITTEN]
    bad = {50: {"year": 2**31}, 51: {"venue": "v" * 32_767}, 52: {"fields": ("Physics", "é" * 20_000)}}
    return [replace(paper, **bad.get(i, {})) for i, paper in enumerate(good)]


def test_documents_that_are_refused_are_listed_and_the_rest_is_written(server, home):
    records = [Accepted(i + 1, paper) for i, paper in enumerate(poisoned())]
    job = make_job(home, home / "none")
    job = replace(job, records=lambda: iter(records))
    report = index_corpus(job, server)
    assert (report.new, report.rejected, report.papers) == (117, 3, 117)
    listed = [json.loads(line) for line in report.dead_letter.read_text().splitlines()]
    assert [(entry["line"], entry["id"]) for entry in listed] == [(i + 1, IDS[i]) for i in (50, 51, 52)]
    for entry, said in zip(listed, ("year", "venue", "fields"), strict=True):
        assert said in entry["reason"]
        assert len(entry["reason"]) < 400
    assert server.open("papers").papers(IDS).keys() == set(IDS) - {IDS[i] for i in (50, 51, 52)}


def test_an_index_of_which_all_is_refused_replaces_nothing(server, home):
    index_corpus(make_job(home, home / "corpus.jsonl"), server)
    records = [Accepted(i, replace(document.paper, year=2**31)) for i, document in enumerate(WRITTEN)]
    job = replace(make_job(home, home / "none", fresh=True), records=lambda: iter(records))
    with pytest.raises(UnavailableError, match=r"took none of the 120 papers, .*papers.jsonl says why"):
        index_corpus(job, server)
    assert server.open("papers").count() == 120


@pytest.mark.opensearch
def test_the_command_tells_by_its_exit_code(home):
    """What was refused, and a server that is not there."""
    url = server_url("opensearch")
    write_jsonl(home / "poisoned.jsonl", [replace(paper, year=None) for paper in poisoned()])
    options = ("--corpus", "jsonl", "--path", home / "poisoned.jsonl", "--model", home / "model", "--index", "papers")
    done = ses(home, "index", *options, "--json", "--engine", url)
    empty(connect(url))
    assert done.returncode == 1, done.stderr
    assert json.loads(done.stdout)["rejected"] == 2
    done = ses(home, "index", *options, "--engine", "http://127.0.0.1:9")
    assert done.returncode == 3
    assert "http://127.0.0.1:9 does not answer (" in done.stderr


def test_a_vector_without_a_direction_is_refused_and_the_rest_is_written(server):
    index = server.build("papers", SCHEMA, "source")
    zero = replace(WRITTEN[7], vectors={**WRITTEN[7].vectors, "prx": np.zeros(16, np.float32)})
    refused = index.upsert([*WRITTEN[:7], zero, *WRITTEN[8:]])
    assert [refusal.id for refusal in refused] == [IDS[7]]
    assert "zero" in refused[0].reason
    check_whole(index, [*WRITTEN[:7], *WRITTEN[8:]])


def test_a_servers_own_error_is_a_documents_only_where_others_were_taken(server, proxy):
    wrong = {"type": "null_pointer_exception", "reason": "oops"}

    def fail_some(reply):
        for item in reply["items"][:fails]:
            item["index"] |= {"status": 500, "error": wrong}
        return reply

    fails = 2
    proxy.rewrite(fail_some, match="_bulk", times=2)
    index = fill(patient(proxy), expected=IDS[:2])
    fails = len(WRITTEN)
    with pytest.raises(UnavailableError, match=r"answered 500 \(oops\)"):
        index.upsert(WRITTEN)


def test_a_request_that_is_too_large_is_sent_in_parts(server, proxy):
    proxy.fail(status=413, match="_bulk", times=3, **PAGE)
    check_whole(fill(patient(proxy)))
    proxy.fail(status=413, match="_bulk")
    refused = fill_one(patient(proxy))
    assert [refusal.id for refusal in refused] == IDS[:1]
    assert "larger than a request" in refused[0].reason


def fill_one(engine):
    return engine.build("papers", SCHEMA, "source").upsert(WRITTEN[:1])


@contextmanager
def making_what_is_missing(server):
    """As servers are out of the box: a document for an index that is not there makes one."""
    setting = "action.auto_create_index"
    server.cluster.call("PUT", "/_cluster/settings", {"persistent": {setting: True}})
    try:
        yield
    finally:
        server.cluster.call("PUT", "/_cluster/settings", {"persistent": {setting: None}})


def test_an_index_that_somebody_deletes_is_not_made_anew_by_the_next_document(server, proxy, home):
    job = make_job(home, home / "corpus.jsonl")

    def delete(reply):
        server.cluster.call("DELETE", f"/{PHYSICAL}")
        return reply

    with making_what_is_missing(server):
        proxy.rewrite(delete, match="_bulk")
        with pytest.raises(UnavailableError, match=rf"no index {PHYSICAL} any more: somebody deleted it; index again"):
            index_corpus(job, patient(proxy))
        assert PHYSICAL not in server.cluster.call("GET", "/ses.*")
        assert index_corpus(job, patient(proxy)).papers == 120


@pytest.mark.parametrize("change", [{"properties": {"extra": {"type": "keyword"}}}, {"dynamic": True}])
def test_a_mapping_that_somebody_changes_is_told_and_not_published(server, proxy, home, change):
    job = make_job(home, home / "corpus.jsonl")

    def alter(reply):
        server.cluster.call("PUT", f"/{PHYSICAL}/_mapping", change)
        return reply

    proxy.rewrite(alter, match="_bulk")
    with pytest.raises(UnavailableError, match=r"changed by somebody else \(at (properties.extra|dynamic)\).*--fresh"):
        index_corpus(job, patient(proxy))
    assert list(server.names()) == []
    report = index_corpus(replace(job, fresh=True), patient(proxy))
    assert (report.generation, report.papers) == (2, 120)
    server.cluster.call("PUT", "/ses.papers.v2/_mapping", change)
    with pytest.raises(UnavailableError, match="changed by somebody else"):
        index_corpus(job, server)


def test_an_index_of_another_model_is_refused_naming_both(server, tmp_path):
    corpus = write_jsonl(tmp_path / "corpus.jsonl", papers(5))
    first = make_job(tmp_path, corpus)
    index_corpus(first, server)
    make_model(tmp_path / "model", seed=1)
    second = make_job(tmp_path, corpus)
    with pytest.raises(InputError) as caught:
        index_corpus(second, server)
    for part in (first.card.fingerprint, second.card.fingerprint, "--fresh"):
        assert part in str(caught.value)
    assert index_corpus(replace(second, fresh=True), server).generation == 2


def test_a_second_run_into_the_same_index_is_refused_while_the_first_goes_on(server, proxy, home):
    job = make_job(home, home / "corpus.jsonl")
    other = replace(job, state_dir=home / "other")
    refusals = []

    def run_another(reply):
        try:
            index_corpus(other, connect(server.url))
        except UnavailableError as error:
            refusals.append(str(error))
        return reply

    proxy.rewrite(run_another, match="_bulk")
    assert index_corpus(job, patient(proxy)).papers == 120
    assert len(refusals) == 1
    assert "Another `ses index` is writing" in refusals[0]
