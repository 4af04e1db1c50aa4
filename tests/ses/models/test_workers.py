"""Worker processes on this machine give the index of one process, whatever happens to them."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import threading
import time
from dataclasses import replace

import pytest

import ses
from corpora.errors import InputError, StoppedError, UnavailableError
from tests.disks import mounted
from tests.failing import counted, make_failing
from tests.tiny import make_model, papers, write_jsonl

BLOCK = 512
BLOCKS = 4

pytestmark = pytest.mark.slow


@pytest.fixture
def library(tmp_path):
    with opened(tmp_path) as library:
        yield library


def opened(folder, **settings):
    make_model(folder / "model")
    given = {"data_dir": folder / "data", "cache_dir": folder / "cache", "model": str(folder / "model")}
    return ses.open(**{**given, "embedding_cache": False, **settings})


def write_corpus(folder, titles=None):
    """Write papers of several blocks, each with a first text of its own; some have other titles, by their place."""
    written = papers(BLOCK * BLOCKS - 100)
    for place in range(BLOCKS):
        written[place * BLOCK] = replace(written[place * BLOCK], title=f"block {place}")
    for place, title in (titles or {}).items():
        written[place] = replace(written[place], title=title)
    return write_jsonl(folder / "corpus.jsonl", written)


def contents(library, name):
    """Hash and vector of each paper of an index."""
    index = library[name].index
    ids = sorted(index.ids())
    hashes, vectors = index.hashes(ids), index.vectors(ids, "prx")
    return {id_: (hashes[id_], vectors[id_].tobytes()) for id_ in ids}


def test_two_workers_make_the_index_of_one_process_and_leave_no_files(tmp_path, library):
    corpus = write_corpus(tmp_path)
    library.index("whole", corpus, corpus="jsonl")
    report = library.index("worked", corpus, corpus="jsonl", workers=2)
    assert (report.new, report.rejected) == (BLOCK * BLOCKS - 100, 0)
    assert contents(library, "worked") == contents(library, "whole")
    assert not (tmp_path / "data" / "shards").exists()
    assert library.index("worked", corpus, corpus="jsonl", workers=2).unchanged == BLOCK * BLOCKS - 100


def test_files_in_a_named_folder_stay_and_are_used_again(tmp_path, library, monkeypatch):
    corpus, shards = write_corpus(tmp_path), tmp_path / "shards"
    for name, value in make_failing(tmp_path / "failing").items():
        monkeypatch.setenv(name, value)
    library.index("first", corpus, corpus="jsonl", workers=1, shards=shards)
    assert len(list(shards.glob("*"))) == BLOCKS
    (shards / "0000001.safetensors").rename(shards / ".0000001.safetensors.0a1b2c3d.part")  # as if killed
    library.index("second", corpus, corpus="jsonl", workers="1", shards=shards)
    library.index("third", corpus, corpus="jsonl", shards=shards)
    assert contents(library, "first") == contents(library, "second") == contents(library, "third")
    assert sorted(counted(tmp_path / "failing").values()) == [1, 1, 1, 2]
    assert len(list(shards.glob("*"))) == BLOCKS


def test_sentences_and_formats_with_a_model_of_their_own_come_from_workers_too(tmp_path, library):
    corpus = write_jsonl(tmp_path / "corpus.jsonl", [replace(one, abstract="A lung. A virus.") for one in papers(20)])
    own = {"clf": str(make_model(tmp_path / "own", seed=1))}
    for name, workers in (("whole", 0), ("worked", 1)):
        library.index(name, corpus, corpus="jsonl", passages="sentences", own=own, workers=workers)
    whole, worked = (library[name].index for name in ("whole", "worked"))
    ids = sorted(whole.ids())
    for leg in ("prx", "clf", "sentences"):
        expected, found = (index.vectors(ids, leg) for index in (whole, worked))
        assert all(expected[id_].tobytes() == found[id_].tobytes() for id_ in ids)


def test_a_killed_worker_costs_a_block_at_most(tmp_path, library, monkeypatch):
    corpus = write_corpus(tmp_path, {100: "slow", 600: "slow", 1100: "slow"})
    library.index("whole", corpus, corpus="jsonl")
    for name, value in make_failing(tmp_path / "failing").items():
        monkeypatch.setenv(name, value)
    killed = []

    def kill():
        while not counted(tmp_path / "failing"):
            time.sleep(0.02)
        killed.append(multiprocessing.active_children()[0].pid)
        os.kill(killed[0], signal.SIGKILL)

    killing = threading.Thread(target=kill)
    killing.start()
    report = library.index("worked", corpus, corpus="jsonl", workers=2)
    killing.join()
    assert report.rejected == 0
    assert contents(library, "worked") == contents(library, "whole")
    assert sum(counted(tmp_path / "failing").values()) <= BLOCKS + 1


def test_papers_that_cannot_be_encoded_are_dead_letters(tmp_path, library, monkeypatch):
    corpus = write_corpus(tmp_path, {700: "deadly", 701: "poison"})
    for name, value in make_failing(tmp_path / "failing").items():
        monkeypatch.setenv(name, value)
    report = library.index("worked", corpus, corpus="jsonl", workers=2)
    count = BLOCK * BLOCKS - 102
    assert (report.new, report.rejected, report.papers) == (count, 2, count)
    listed = [json.loads(line) for line in report.dead_letter.read_text().splitlines()]
    assert {one["id"]: one["reason"] for one in listed} == {
        "p00700": "Workers ended whenever they encoded it.",
        "p00701": "It can't be encoded (RuntimeError: poisoned).",
    }
    assert [one["line"] for one in sorted(listed, key=lambda one: one["id"])] == [701, 702]
    assert sum(counted(tmp_path / "failing").values()) == BLOCKS
    rest = write_corpus(tmp_path, {700: "slow", 701: "slow"})
    library.index("whole", rest, corpus="jsonl")
    whole, worked = contents(library, "whole"), contents(library, "worked")
    assert whole.keys() - worked.keys() == {"p00700", "p00701"}
    # Vectors of int8 depend on their batch, so those of the same block may differ.
    others = [id_ for id_ in worked if not BLOCK <= int(id_[1:]) < 2 * BLOCK]
    assert {id_: worked[id_] for id_ in others} == {id_: whole[id_] for id_ in others}


def test_a_full_disk_ends_the_run_with_a_sentence_and_it_resumes(tmp_path, library):
    corpus = write_corpus(tmp_path)
    library.index("whole", corpus, corpus="jsonl")
    with mounted(tmp_path / "disk", 400) as remount:
        with pytest.raises(UnavailableError, match=r"could not encode block \d in 6 tries .*No space left on device"):
            library.index("worked", corpus, corpus="jsonl", workers=2, shards=tmp_path / "disk" / "shards")
        remount("size=8m")
        library.index("worked", corpus, corpus="jsonl", workers=2, shards=tmp_path / "disk" / "shards")
    assert contents(library, "worked") == contents(library, "whole")


class Stopping:
    """A progress that presses Ctrl-C when the first block is begun."""

    def stage(self, name, total):
        self.now = name

    def advance(self, papers, rejected=0, **_):
        if self.now == "indexing":
            raise KeyboardInterrupt


def test_a_stopped_run_leaves_no_thread_that_waits_for_a_worker(tmp_path, library):
    corpus, others = write_corpus(tmp_path), multiprocessing.active_children()  # of tests before this one
    with pytest.raises(StoppedError, match="index the same papers again to resume"):
        library.index("worked", corpus, corpus="jsonl", workers=1, progress=Stopping())
    assert [one for one in multiprocessing.active_children() if one not in others] == []
    for thread in threading.enumerate():
        if thread.name.startswith("ThreadPoolExecutor"):
            thread.join(60)
            assert not thread.is_alive()


def test_a_rebuild_is_encoded_by_workers_too(tmp_path, library, monkeypatch):
    library.index("papers", write_corpus(tmp_path), corpus="jsonl")
    before = contents(library, "papers")
    for name, value in make_failing(tmp_path / "failing").items():
        monkeypatch.setenv(name, value)
    report = library.rebuild("papers", workers=1)
    assert (report.generation, report.papers) == (2, BLOCK * BLOCKS - 100)
    assert contents(library, "papers") == before
    assert counted(tmp_path / "failing").total() == BLOCKS
    assert not (tmp_path / "data" / "shards").exists()
    with pytest.raises(InputError, match="here the papers of an index are encoded; give workers too, or leave shards"):
        library.rebuild("papers", shards=tmp_path / "shards")


@pytest.mark.parametrize("workers", [0, "0", ""])
def test_without_workers_this_process_encodes(tmp_path, library, workers):
    assert library.index("mine", write_corpus(tmp_path), corpus="jsonl", limit=3, workers=workers).new == 3


@pytest.mark.parametrize("workers", ["four", "-1", "00", "ray-x", "2.5"])
def test_workers_that_cannot_be_understood_are_refused(tmp_path, library, workers):
    with pytest.raises(InputError, match=r"The workers can't be .*; give a number of processes, workers=ray or"):
        library.index("worked", write_corpus(tmp_path), corpus="jsonl", workers=workers)


def test_workers_with_another_model_of_the_same_name_are_refused(tmp_path):
    corpus = write_jsonl(tmp_path / "corpus.jsonl", papers(5))
    with opened(tmp_path) as library:
        make = library._models.to_write

        def to_write(schema):
            found = make(schema)
            make_model(tmp_path / "model", seed=1)
            return found

        library._models.to_write = to_write
        with pytest.raises(
            InputError, match=r"A worker's model .* has the fingerprint \w+, and the index needs \w+; give"
        ):
            library.index("worked", corpus, corpus="jsonl", workers=1)
