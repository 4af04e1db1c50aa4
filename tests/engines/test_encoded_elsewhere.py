"""A server that dies at 70 % of a run whose papers are encoded elsewhere: no work is lost, and little is done twice."""

from __future__ import annotations

import functools
from dataclasses import replace

import pytest

from corpora.errors import UnavailableError
from indexer.blocks import VectorPlan
from indexer.pipeline import index_corpus
from indexer.shards import Shard, ShardJob, encode_shard, from_shards
from indexer.storage import storage_at
from indexer.workers import WorkerEncoding
from search_plugin.contract.connection import Connection
from search_plugin.engines.registry import connect
from ses.models.workers import local_pool, running_of
from ses.settings import load_settings
from tests.engines.conftest import empty
from tests.engines.killing import held, own_servers
from tests.failing import counted, make_failing
from tests.faults import ALWAYS, FaultProxy
from tests.indexer.jobs import contents, make_job
from tests.tiny import make_model, papers, write_jsonl

pytestmark = pytest.mark.engines_cli

BLOCK = 32
BLOCKS = 50
WORKERS = 2
COUNT = BLOCK * BLOCKS
IDS = [paper.id for paper in papers(COUNT)]


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A folder with a model and a corpus of fifty blocks, each with a first text of its own."""
    folder = tmp_path_factory.mktemp("home")
    make_model(folder / "model")
    written = papers(COUNT)
    for number in range(BLOCKS):
        written[number * BLOCK] = replace(written[number * BLOCK], title=f"block {number}")
    write_jsonl(folder / "corpus.jsonl", written)
    return folder


@pytest.fixture(scope="module")
def undisturbed(started, home):
    """What the index of one process holds, and how many requests wrote it."""
    started.do("start")
    empty(connect(started.url))
    with FaultProxy(started.url) as proxy:
        report = index_corpus(small_job(home), connect(proxy.url))
        writing = sum("_bulk" in request.path for request in proxy.requests)
    assert report.new == COUNT
    return contents(home, "papers", IDS, started.url), writing


def small_job(home, encoding=None):
    """A job that writes one block at a time."""
    return make_job(home, home / "corpus.jsonl", encoding=encoding, block=BLOCK, bulk_bytes=1)


def by_shards(home, folder):
    """Encode two shards, and return what takes vectors from them."""
    job = small_job(home)
    plan = VectorPlan(job.card.name, job.card.fingerprint, ("prx",))
    for shard in (Shard(1, 2), Shard(2, 2)):
        encode_shard(ShardJob(job.records, storage_at(folder), shard, plan, job.encoder, job.state_dir, BLOCK))
    return functools.partial(from_shards, storage_at(folder))


def by_workers(home, folder):
    """Return what encodes by two processes."""
    settings = load_settings(model=str(home / "model"), cache_dir=home / "cache", precision="int8", threads=1)
    return WorkerEncoding(functools.partial(local_pool, WORKERS, settings), storage_at(folder), running_of(settings))


def crash_after(own, proxy, writing):
    """Have the server die after it has done so many requests that write; it comes back after a while."""
    done = 0

    def handle(request, forward):
        nonlocal done
        reply = forward()
        done += 1
        if done != writing:
            return reply
        own.crash()
        return None

    proxy.handle(handle, match="_bulk", times=ALWAYS)


@own_servers("opensearch")
@pytest.mark.parametrize(("encoding", "patient"), [(by_shards, False), (by_workers, False), (by_workers, True)])
def test_a_server_that_restarts_costs_each_worker_a_block_at_most(
    undisturbed, own, home, tmp_path, monkeypatch, encoding, patient
):
    whole, writing = undisturbed
    job = small_job(home, encoding(home, tmp_path / "shards"))
    for name, value in make_failing(tmp_path / "failing").items():
        monkeypatch.setenv(name, value)
    with FaultProxy(own.url) as proxy:
        crash_after(own, proxy, round(0.7 * writing))
        engine = connect(proxy.url, Connection(patience=150 if patient else 1))
        done = 0
        if not patient:
            with pytest.raises(UnavailableError, match=f"{proxy.url} does not answer"):
                index_corpus(job, engine)
            assert counted(tmp_path / "failing").total() < BLOCKS
            own.wait()
            done = held(connect(own.url))
            assert 0.7 * COUNT <= done < COUNT
        report = index_corpus(job, engine)
    own.wait()
    assert (report.papers, report.new, report.unchanged, report.rejected) == (COUNT, COUNT - done, done, 0)
    assert contents(home, "papers", IDS, own.url) == whole
    encoded = counted(tmp_path / "failing").total()
    assert BLOCKS <= encoded <= BLOCKS + WORKERS * (not patient) if encoding is by_workers else encoded == 0
