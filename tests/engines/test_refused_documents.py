"""Documents that a cluster does not take: each is told with its reason, and the rest is written."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from corpora.errors import UnavailableError
from corpora.paper import Accepted
from indexer.pipeline import index_corpus
from tests.commands import ses
from tests.engines.conftest import SCHEMA, every_version
from tests.engines.writing import IDS, PAGE, WRITTEN, check_whole, fill, patient
from tests.indexer.jobs import make_job
from tests.tiny import write_jsonl


def poisoned():
    """A corpus in which the 51st, 52nd and 53rd paper are none that a cluster takes."""
    good = [document.paper for document in WRITTEN]
    bad = {50: {"year": 2**31}, 51: {"venue": "v" * 32_767}, 52: {"fields": ("Physics", "é" * 20_000)}}
    return [replace(paper, **bad.get(i, {})) for i, paper in enumerate(good)]


@every_version
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


@pytest.mark.parametrize("server", [pytest.param("opensearch", marks=pytest.mark.opensearch)], indirect=True)
def test_the_command_tells_by_its_exit_code(server, home):
    """What was refused, and a server that is not there."""
    write_jsonl(home / "poisoned.jsonl", [replace(paper, year=None) for paper in poisoned()])
    options = ("--corpus", "jsonl", "--path", home / "poisoned.jsonl", "--model", home / "model", "--index", "papers")
    done = ses(home, "index", *options, "--json", "--engine", server.url)
    assert done.returncode == 1, done.stderr
    assert json.loads(done.stdout)["rejected"] == 2
    done = ses(home, "index", *options, "--engine", "http://127.0.0.1:9")
    assert done.returncode == 3
    assert "http://127.0.0.1:9 does not answer (" in done.stderr


@every_version
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
    refused = patient(proxy).build("papers", SCHEMA, "source").upsert(WRITTEN[:1])
    assert [refusal.id for refusal in refused] == IDS[:1]
    assert "larger than a request" in refused[0].reason
