"""Blocks as tasks of workers, with workers and encoders that fail as the test says, in this process."""

from __future__ import annotations

import threading
from collections.abc import Collection
from contextlib import nullcontext
from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from corpora.errors import InputError, UnavailableError
from corpora.paper import Paper
from corpora.progress import Silent
from indexer.block_files import block_name, read_block
from indexer.blocks import PaperBlock, VectorPlan
from indexer.storage import storage_at
from indexer.tasks import BlockResult, BlockTask, run_task, write_texts
from indexer.work import Halt, Work
from indexer.workers import WorkerEncoding, WorkerEndedError
from tests.tiny import papers

PLAN = VectorPlan("model", "f" * 32, ("prx",))
BLOCK = PaperBlock(3, papers(5))
HASHES = [paper.content_hash() for paper in BLOCK.papers]


@dataclass
class Encoder:
    """Gives each paper the number of characters of its title, and fails for some."""

    unfit: Collection[str] = ()
    error: type[Exception] = ValueError
    encoded: list[str] = field(default_factory=list)

    def encode(self, chosen, done=None):
        self.encoded += [paper.title for paper in chosen]
        if any(paper.title in self.unfit for paper in chosen):
            raise self.error("no")
        return {"prx": [np.full(2, len(paper.title), np.float32) for paper in chosen]}


@pytest.fixture
def task(tmp_path):
    task = BlockTask(str(tmp_path), BLOCK.number, PLAN)
    write_texts(task, BLOCK, {})
    return task


def never(plan):
    pytest.fail("the model is loaded for nothing")


def test_a_task_writes_the_vectors_of_its_block(task):
    assert run_task(task, lambda plan: Encoder(), "here") == BlockResult(place="here")
    stored = read_block(storage_at(task.shards), BLOCK.number)
    assert (stored.plan, stored.hashes, dict(stored.unfit)) == (PLAN, tuple(HASHES), {})
    assert [row[0] for row in stored.vectors["prx"]] == [len(paper.title) for paper in BLOCK.papers]


def test_a_block_that_a_worker_wrote_before_it_ended_is_not_made_again(task):
    run_task(task, lambda plan: Encoder())
    assert run_task(task, never) == BlockResult()
    encoder = Encoder()
    run_task(replace(task, plan=replace(PLAN, fingerprint="0" * 32)), lambda plan: encoder)
    assert len(encoder.encoded) == 5


def test_a_paper_that_cannot_be_encoded_is_left_out_with_the_reason(task):
    assert run_task(task, lambda plan: Encoder({BLOCK.papers[2].title})) == BlockResult()
    stored = read_block(storage_at(task.shards), BLOCK.number)
    assert dict(stored.unfit) == {HASHES[2]: "It can't be encoded (ValueError: no)."}
    assert stored.hashes == (*HASHES[:2], *HASHES[3:])


@pytest.mark.parametrize(
    ("error", "result"),
    [
        (InputError("Wrong", "do it"), BlockResult("Wrong", "do it", final=True, place="here")),
        (UnavailableError("Gone", "wait"), BlockResult("Gone", "wait", place="here")),
        (ValueError("odd"), BlockResult("ValueError: odd", place="here")),
    ],
)
def test_what_is_at_fault_but_a_paper_is_a_result(error, result, task):
    def load(plan):
        raise error

    assert run_task(task, load, "here") == result


def test_a_careful_task_tries_each_paper_alone_and_names_the_one_that_it_tries(task):
    tried = []

    class Watched(Encoder):
        def encode(self, chosen, done=None):
            if len(chosen) == 1:
                tried.append((storage_at(task.shards).read(task.trying).decode(), chosen[0].title))
            return super().encode(chosen)

    assert run_task(replace(task, careful=True), lambda plan: Watched()) == BlockResult()
    assert tried == [(hash_, paper.title) for hash_, paper in zip(HASHES, BLOCK.papers, strict=True)]
    with pytest.raises(FileNotFoundError):
        storage_at(task.shards).read(task.trying)


@dataclass
class Pool:
    """Runs tasks in this process; `fails` is called before each with the task and what it should avoid."""

    fails: object
    workers: int = 1
    encoder: Encoder = field(default_factory=Encoder)

    def run(self, task, without):
        failure = self.fails(task, set(without))
        return failure or run_task(task, lambda plan: self.encoder, "a")


def encoded(pool, folder, work=None):
    encoding = WorkerEncoding(lambda: nullcontext(pool), storage_at(folder))
    work = work or Work(Silent(), total=5, size=100)
    return list(encoding((block for block in [BLOCK]), PLAN, work))


def test_a_failed_block_is_tried_elsewhere_and_after_six_tries_the_run_ends(tmp_path):
    asked = []

    def fails(task, without):
        asked.append(without)
        return BlockResult("The disk is full", place=f"machine {len(asked)}")

    with pytest.raises(UnavailableError, match=r"block 3 in 6 tries \(The disk is full\)"):
        encoded(Pool(fails), tmp_path)
    assert asked == [{f"machine {before}" for before in range(1, number)} for number in range(1, 7)]


def test_a_failure_that_every_worker_would_have_ends_the_run_at_once(tmp_path):
    tries = []
    with pytest.raises(InputError, match="Wrong"):
        encoded(Pool(lambda task, without: tries.append(1) or BlockResult("Wrong", "do it", final=True)), tmp_path)
    assert tries == [1]


def test_a_paper_that_ends_workers_twice_when_it_is_tried_alone_is_left_out(tmp_path):
    """Also if it has ended more workers than a block has tries, since finding it is no try."""
    evil = HASHES[1]
    ended = []

    def fails(task, without):
        storage = storage_at(task.shards)
        if evil in storage.read(task.texts).decode().partition('"unfit"')[2]:
            return
        ended.append(task.careful)
        if task.careful:
            storage.write(task.trying, evil.encode())
        raise WorkerEndedError("killed")

    (made,) = encoded(Pool(fails), tmp_path)
    assert ended == [False, False, True, True]
    assert [paper.content_hash() for paper in made.papers] == [hash_ for hash_ in HASHES if hash_ != evil]
    assert [one.reason for one in made.refused] == ["Workers ended whenever they encoded it."]


def test_a_paper_is_suspected_only_for_the_end_that_it_was_tried_in(tmp_path):
    """The fourth worker ends before it tries a paper alone, so the paper of the third has ended one worker."""
    ended = []

    def fails(task, without):
        ended.append(task)
        if len(ended) == 3:
            storage_at(task.shards).write(task.trying, HASHES[1].encode())
        if len(ended) <= 4:
            raise WorkerEndedError("killed")

    (made,) = encoded(Pool(fails), tmp_path)
    assert (len(made.papers), list(made.refused)) == (5, [])


@pytest.mark.parametrize("workers", [1, 2])
def test_each_worker_has_four_blocks_in_hand(workers, tmp_path):
    """The fifth is cut only when the first is written."""
    cut = []

    def blocks():
        for number in range(12):
            cut.append(number)
            yield PaperBlock(number, BLOCK.papers)

    work = Work(Silent(), total=60, size=1200)
    encoding = WorkerEncoding(lambda: nullcontext(Pool(lambda task, without: None, workers)), storage_at(tmp_path))
    written = [len(cut) for _ in encoding(blocks(), PLAN, work)]
    assert written == [min(12, 4 * workers + before) for before in range(12)]


def test_progress_tells_blocks_and_papers_by_their_cost(tmp_path):
    short, long = (
        PaperBlock(number, [Paper(f"{number}{row}", title) for row in range(5)])
        for number, title in enumerate(("x" * 10, "x" * 30))
    )
    told = []

    class Telling(Silent):
        def advance(self, papers, rejected=0, *, block=0.0, cost=1.0):
            told.append((papers, block, cost))

    work = Work(Telling(), total=10, size=200)
    encoding = WorkerEncoding(lambda: nullcontext(Pool(lambda task, without: None)), storage_at(tmp_path))
    assert len(list(encoding((block for block in (short, long)), PLAN, work))) == 2
    assert told == [(0, 5, 0.5), (5, 0, 0.5), (0, 5, 1.5), (5, 0, 1.5)]
    assert work.encoded == 10


def test_a_stopped_run_does_not_wait_for_a_worker(tmp_path):
    release = threading.Event()
    work = Work(Silent(), total=5, size=100)

    def fails(task, without):
        work.stopped.set()
        release.wait(30)

    try:
        with pytest.raises(Halt):
            encoded(Pool(fails), tmp_path, work)
    finally:
        release.set()


def test_block_files_of_workers_are_used_again(tmp_path):
    pool = Pool(lambda task, without: None)
    encoded(pool, tmp_path)
    encoded(Pool(never), tmp_path)
    assert len(pool.encoder.encoded) == 5
    assert [path.name for path in tmp_path.iterdir()] == [block_name(BLOCK.number)]
