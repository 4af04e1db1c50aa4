"""Somebody blocks, closes, deletes or changes an index in the middle of a load, or loads into it too."""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import replace

import pytest

from corpora.errors import InputError, UnavailableError
from indexer.pipeline import index_corpus
from search_plugin.engines.registry import connect
from tests.engines.conftest import every_version
from tests.engines.writing import PHYSICAL, WRITTEN, check_whole, fill, patient
from tests.faults import ALWAYS
from tests.indexer.jobs import make_job
from tests.tiny import make_model, papers, write_jsonl


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
        with pytest.raises(UnavailableError, match=f"{told}.* try again: it resumes"):
            index_corpus(job, engine)
        assert time.monotonic() - begun < 10
    finally:
        set_block(server, block, on=False)
    report = index_corpus(job, engine)
    assert (report.papers, report.rejected) == (120, 0)
    assert report.unchanged >= 60


def set_block(server, name, *, on):
    server.cluster.call("PUT", f"/{PHYSICAL}/_settings", {f"index.blocks.{name}": on or None})


@every_version
def test_an_index_that_is_closed_is_not_the_documents_fault(server, proxy):
    index = fill(server)
    server.cluster.call("POST", f"/{PHYSICAL}/_close")
    with pytest.raises(UnavailableError, match="closed"):
        index.upsert(WRITTEN)
    server.cluster.call("POST", f"/{PHYSICAL}/_open")
    check_whole(index)


@contextmanager
def making_what_is_missing(server):
    """As servers are out of the box: a document for an index that is not there makes one."""
    setting = "action.auto_create_index"
    server.cluster.call("PUT", "/_cluster/settings", {"persistent": {setting: True}})
    try:
        yield
    finally:
        server.cluster.call("PUT", "/_cluster/settings", {"persistent": {setting: None}})


@every_version
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
    with pytest.raises(UnavailableError, match=r"changed by somebody else \(at (properties.extra|dynamic)\).*fresh"):
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
    for part in (first.card.fingerprint, second.card.fingerprint, "fresh"):
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
    assert "Another run is writing" in refusals[0]
