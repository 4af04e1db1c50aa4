"""Builds that can't be finished leave nothing behind, and what was stopped says what is kept."""

from __future__ import annotations

import functools
import signal
import threading
import time
from dataclasses import replace

import pytest

from corpora.errors import InputError, StoppedError
from corpora.paper import Deleted, Rejected
from corpora.registry import get_corpus
from indexer.pipeline import index_corpus
from search_plugin.contract.engine import Document
from search_plugin.contract.schema import IndexSchema, paper_vector
from tests.indexer.jobs import engine_in, make_job, run_job
from tests.indexer.test_pipeline import counts, expect
from tests.tiny import papers, write_jsonl


@pytest.mark.parametrize("records", [[], [Rejected(1, "It has no title.", "x")], [Deleted(1, "x")]])
def test_a_corpus_without_papers_makes_no_index(records, tmp_path):
    job = replace(make_job(tmp_path, tmp_path / "none"), records=lambda: iter(records))
    told = "None of the 1 records" if isinstance((records or [None])[0], Rejected) else "The corpus holds no papers"
    with pytest.raises(InputError, match=told):
        run_job(tmp_path, job)
    check_nothing_is_left(tmp_path)


def test_a_corpus_that_lost_all_its_papers_does_not_replace_an_index(tmp_path):
    corpus = write_jsonl(tmp_path / "corpus.jsonl", papers(5))
    run_job(tmp_path, make_job(tmp_path, corpus))
    empty = replace(make_job(tmp_path, corpus, fresh=True), records=lambda: iter([]))
    with pytest.raises(InputError, match="The corpus holds no papers"):
        run_job(tmp_path, empty)
    assert engine_in(tmp_path).open("papers").count() == 5
    assert engine_in(tmp_path).diagnose().troubles == ()


def check_nothing_is_left(folder):
    engine = engine_in(folder)
    assert list(engine.names()) == []
    assert engine.diagnose().indexes == ()


def test_a_corpus_that_can_not_be_read_leaves_nothing(tmp_path):
    (tmp_path / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(range(256)))
    for corpus, columns in (("csv", {}), ("jsonl", {}), ("csv", {"title": "Titel"})):
        path = tmp_path / "picture.png"
        if columns:
            path = tmp_path / "table.csv"
            path.write_text("id,title\na,A virus\n")
        records = functools.partial(get_corpus(corpus).read, path, columns)
        with pytest.raises(InputError):
            run_job(tmp_path, replace(make_job(tmp_path, path), records=records))
        check_nothing_is_left(tmp_path)


def test_a_failure_keeps_an_unfinished_build_with_papers(tmp_path):
    corpus = write_jsonl(tmp_path / "corpus.jsonl", papers(50))
    job = make_job(tmp_path, corpus)
    index = engine_in(tmp_path).build("papers", generation_schema(job), job.source)
    index.upsert([document_of(paper, job) for paper in papers(3)])

    def broken():
        raise InputError("The corpus is gone.")

    with pytest.raises(InputError, match="corpus is gone"):
        run_job(tmp_path, replace(job, records=broken))
    assert counts(run_job(tmp_path, job)) == expect(new=47, unchanged=3, papers=50)


def generation_schema(job):
    vectors = tuple(paper_vector(name.value, job.card.dimension, job.card.similarity) for name in job.formats)
    return IndexSchema(job.card.name, job.card.fingerprint, vectors)


def document_of(paper, job):
    text = job.card.text(paper.title, paper.abstract)
    return Document(paper, paper.content_hash(), {"prx": job.encoder().encode([text])[0]})


def test_papers_that_left_the_corpus_are_counted(tmp_path):
    corpus = write_jsonl(tmp_path / "corpus.jsonl", papers(10))
    assert run_job(tmp_path, make_job(tmp_path, corpus)).absent == 0
    other = write_jsonl(tmp_path / "other.jsonl", papers(14)[12:])
    assert run_job(tmp_path, make_job(tmp_path, other, origin="other")).absent == 0
    write_jsonl(corpus, papers(7))
    report = run_job(tmp_path, make_job(tmp_path, corpus))
    assert (report.absent, report.deleted, report.papers) == (3, 0, 12)
    part = run_job(tmp_path, make_job(tmp_path, corpus, whole=False))
    assert part.absent == 0
    pruned = run_job(tmp_path, make_job(tmp_path, corpus, prune=True))
    assert (pruned.absent, pruned.deleted, pruned.papers) == (0, 3, 9)


class Watched:
    """A progress that notes the steps of the stage of indexing."""

    def __init__(self):
        self.stages, self.steps, self.blocks = [], [], []

    def stage(self, name, total):
        self.stages.append((name, total))

    def advance(self, papers, rejected=0, *, block=0.0, cost=1.0):
        if self.stages[-1][0] == "indexing":
            self.steps.append(papers)
            self.blocks += [(block, cost)] if block else []


def test_blocks_of_longer_texts_cost_more(tmp_path):
    made = [replace(one, abstract=f"virus {one.id} " * (1 + 3 * (place >= 32))) for place, one in enumerate(papers(64))]
    watched = Watched()
    corpus = write_jsonl(tmp_path / "corpus.jsonl", made)
    index_corpus(replace(make_job(tmp_path, corpus), block=32), engine_in(tmp_path), watched)
    lengths = [sum(len(one.title) + len(one.abstract.strip()) for one in made[at : at + 32]) for at in (0, 32)]
    assert [block for block, _ in watched.blocks] == [32, 32]
    assert [cost for _, cost in watched.blocks] == pytest.approx([2 * one / sum(lengths) for one in lengths])


def test_progress_comes_by_batch(tmp_path):
    corpus = write_jsonl(tmp_path / "corpus.jsonl", papers(64))
    watched = Watched()
    index_corpus(replace(make_job(tmp_path, corpus), block=512), engine_in(tmp_path), watched)
    assert sum(watched.steps) == pytest.approx(64)
    assert len([step for step in watched.steps if step]) > 3
    assert watched.blocks == [(64, 1.0)]
    assert ("indexing", 64) in watched.stages


class Slow:
    """An encoder that waits before each batch, and interrupts the writer when it has encoded some."""

    def __init__(self, encoder, interrupt):
        self.encoder, self.interrupt, self.encoded = encoder, interrupt, 0.0

    def encode_formats(self, texts, formats, done):
        def waiting(papers):
            time.sleep(0.1)
            self.encoded += papers
            self.interrupt(self.encoded)
            done(papers)

        return self.encoder.encode_formats(texts, formats, waiting)


@pytest.mark.long  # it once ended the process of its worker on a busy machine
@pytest.mark.parametrize(("cached", "bulk_bytes"), [(True, 1 << 30), (False, 1 << 30), (True, 10_000)])
def test_stopping_ends_the_encoder_within_a_batch_and_says_what_is_kept(cached, bulk_bytes, tmp_path):
    corpus = write_jsonl(tmp_path / "corpus.jsonl", papers(400))
    job = replace(make_job(tmp_path, corpus), block=64, bulk_bytes=bulk_bytes, cached=cached)
    begun = []

    def interrupt(encoded):
        if encoded > 150 and not begun:
            begun.append(time.monotonic())
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    encoder = job.encoder()
    slow = replace(job, encoder=lambda: Slow(encoder, interrupt))
    with pytest.raises(StoppedError) as stopped:
        run_job(tmp_path, slow)
    assert time.monotonic() - begun[0] < 1.9
    told = str(stopped.value)
    assert told.endswith("index the same papers again to resume.")
    assert ("are in the cache" in told) == cached
    assert ("papers are in the unfinished index papers" in told) == (bulk_bytes == 10_000)
    left = [index.name for index in engine_in(tmp_path).diagnose().indexes]
    assert left == (["papers"] if bulk_bytes == 10_000 else [])
    time.sleep(0.5)
    assert not [thread for thread in threading.enumerate() if "run" in thread.name]
    assert counts(run_job(tmp_path, job))["papers"] == 400
