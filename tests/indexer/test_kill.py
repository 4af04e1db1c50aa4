"""`kill -9` at any moment loses nothing, doubles nothing, and finished work is not redone."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import time
from dataclasses import replace
from functools import partial

import pytest

from encoders.cache import EmbeddingCache
from encoders.encoder import load_encoder
from encoders.runtimes.registry import Session
from encoders.tokens.batching import PART
from tests.chance import drawn, effort, kills
from tests.indexer.jobs import contents, engine_in, make_job, run_in_child, run_job
from tests.tiny import papers, write_jsonl


@pytest.mark.slow
def test_kills_end_in_the_index_of_an_uninterrupted_run(tmp_path):
    written = [replace(one, abstract=one.abstract.replace("virus ", "virus. A ")) for one in papers(800)]
    first = write_jsonl(tmp_path / "first.jsonl", written)
    changed = [replace(paper, title=f"{paper.title} vaccine") if i % 3 else paper for i, paper in enumerate(written)]
    second = write_jsonl(tmp_path / "second.jsonl", changed[100:] + papers(900)[800:])
    ids = [paper.id for paper in papers(900)]

    run_job(tmp_path, make_job(tmp_path, first, "sentences"))
    after_first = contents(tmp_path, "sentences", ids)
    begun = time.monotonic()
    run_job(tmp_path, make_job(tmp_path, second, "sentences"))
    duration = time.monotonic() - begun
    after_second = contents(tmp_path, "sentences", ids)
    assert len(after_first) == 800
    assert len(after_second) == 900

    came, rounds, draw = 0, 0, drawn()
    # Each round builds an index, updates it, and builds it anew beside itself, killed again and again on the way.
    while came < kills(3, 4, 20):
        name = f"sentences-{rounds}"
        stages = ((first, "", after_first), (second, "", after_second), (first, "fresh", after_first))
        for corpus, flag, expected in stages:
            patience = duration / effort(1, 2, 3)
            while (report := _run(tmp_path, corpus, name, flag, draw.uniform(0, patience))) is None:
                came += 1
                patience *= 1.2  # a machine that has become slower must still get to the end
            assert contents(tmp_path, name, ids) == expected
            assert report["rejected"] == report["duplicates"] == 0
        rounds += 1


def _run(folder, corpus, name, flag, seconds):
    """Return the report, or None if the process was killed after so many seconds of indexing."""
    done = _unfinished(folder, name)

    def kill(child):
        try:
            child.wait(seconds)
        except subprocess.TimeoutExpired:
            child.kill()

    report = run_in_child(folder, corpus, name, flag, meanwhile=kill)
    if report is None:
        return None
    assert report["unchanged"] >= done, "finished work was done again"
    return report


def _unfinished(folder, name):
    """How many papers an interrupted build left."""
    engine = engine_in(folder)
    newest = max(engine.generations(name), default=0)
    if newest <= engine.alias(name).current:
        return 0
    return engine.generation(name, newest).count()


BLOCK = 300


def _job(folder, corpus, name):
    """Int8 vectors, all papers in one block, long texts in passages, and a cache of its own."""
    cache = EmbeddingCache(folder / f"{name}.sqlite")
    load = partial(load_encoder, str(folder / "model"), cache_dir=folder / "cache", precision="int8", threads=1)
    job = make_job(folder, corpus, name, block=BLOCK)
    return replace(job, encoder=lambda: load(cache=cache, long_text="passages"))


def _counting(job, texts, stop=None):
    """A job that adds the number of rows of each batch to a list, and dies before it encodes more than `stop` rows."""

    def load():
        encoder = job.encoder()

        def count(heads):
            session = encoder.sessions(heads)

            def run(ids, mask):
                if stop and sum(texts) + len(ids) > stop:
                    os.kill(os.getpid(), signal.SIGKILL)
                texts.append(len(ids))
                return session(ids, mask)

            return Session(run)

        return replace(encoder, sessions=count)

    return replace(job, encoder=load)


def _die(folder, corpus, stop):
    run_job(folder, _counting(_job(folder, corpus, "killed"), [], stop))


@pytest.mark.slow
def test_a_kill_in_the_first_block_loses_a_few_batches_and_no_more(tmp_path):
    long = [replace(paper, abstract=" ".join([paper.abstract or "virus"] * 12)) for paper in papers(BLOCK)[:9]]
    corpus = write_jsonl(tmp_path / "corpus.jsonl", [*long, *papers(BLOCK)[9:]])
    whole, again = [], []
    run_job(tmp_path, _counting(_job(tmp_path, corpus, "whole"), whole))

    victim = multiprocessing.get_context("spawn").Process(target=_die, args=(tmp_path, corpus, sum(whole) - 10))
    victim.start()
    victim.join()
    assert victim.exitcode == -signal.SIGKILL
    assert engine_in(tmp_path).names() == ["whole"]

    report = run_job(tmp_path, _counting(_job(tmp_path, corpus, "killed"), again))
    assert (report.new, report.unchanged) == (BLOCK, 0)
    # Besides what was not made, those of a part, which is saved when a batch has filled it.
    assert 10 <= sum(again) < 10 + PART + max(whole)
    ids = [paper.id for paper in papers(BLOCK)]
    assert contents(tmp_path, "killed", ids) == contents(tmp_path, "whole", ids)
