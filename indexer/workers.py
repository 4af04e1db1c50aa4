"""Encodes blocks by worker processes, here or on other machines, and yields them in order.

Workers write block files where all can read them. A failed block is tried again, on another machine if there is one. A
paper that ends workers is found by trying each alone, and left out with a reason.
"""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, closing, suppress
from dataclasses import dataclass, field, replace
from typing import Protocol

from corpora.errors import InputError, UnavailableError
from indexer.block_files import intact_block, read_block
from indexer.blocks import BlockStream, EncodedBlock, PaperBlock, VectorPlan
from indexer.storage import Storage
from indexer.survey import size_of
from indexer.tasks import BlockResult, BlockTask, write_texts
from indexer.work import Halt, Work

_AHEAD = 4
"""Blocks in hand for each worker, so that a slow one does not stop the others."""
_MOST_TRIES = 6
"""Times that a block is tried before the run gives up; finding an unfit paper does not count."""
_CAREFUL = 2
"""Ends of workers after which a block is suspected, and then a paper."""
_LOOK = 0.2
"""How often a wait looks whether the run has stopped (seconds)."""


class WorkerEndedError(Exception):
    """A worker's process, or its machine, ended while it worked on a task."""


class WorkerPool(Protocol):
    """Workers that run tasks."""

    @property
    def workers(self) -> int:
        """How many tasks run at the same time."""

    def run(self, task: BlockTask, without: Collection[str]) -> BlockResult:
        """Run a task on a machine that is not among some, if there is another; threads call it at the same time.

        Raises `WorkerEndedError` if the worker ended.
        """


@dataclass(frozen=True, slots=True)
class WorkerEncoding:
    """Encodes blocks by a pool, as `indexer.blocks.BlockEncoding`.

    Attributes:
        open_pool: Starts the workers; called when there is a block to encode.
        storage: Where block files are, the same for the workers; existing files are used.
        running: How the workers run the model, as of `VectorPlan`.
    """

    open_pool: Callable[[], AbstractContextManager[WorkerPool]]
    storage: Storage
    running: tuple[tuple[str, str], ...] = ()

    def __call__(self, blocks: BlockStream, plan: VectorPlan, work: Work) -> Iterator[EncodedBlock]:
        """Encode the blocks and yield them in order; `UnavailableError` if one can't be encoded."""
        self.storage.clean()
        with closing(blocks), self.open_pool() as pool:
            run = _Run(pool, self.storage, replace(plan, running=self.running), work)
            # A thread for each block in hand: it only waits for a worker.
            threads = ThreadPoolExecutor(_AHEAD * pool.workers)
            ahead: deque[tuple[PaperBlock, Future[None]]] = deque()
            try:
                for block in blocks:
                    ahead.append((block, threads.submit(run.encode, block)))
                    if len(ahead) >= _AHEAD * pool.workers:
                        yield run.finished(*ahead.popleft())
                while ahead:
                    yield run.finished(*ahead.popleft())
            finally:
                run.stopped.set()
                threads.shutdown(wait=False, cancel_futures=True)


@dataclass(frozen=True, slots=True)
class _Run:
    pool: WorkerPool
    storage: Storage
    plan: VectorPlan
    work: Work
    stopped: threading.Event = field(default_factory=threading.Event)

    def finished(self, block: PaperBlock, encoded: Future[None]) -> EncodedBlock:
        """Wait for a block, and return it with its vectors; raises `Halt` if the run has stopped."""
        self.work.begin([size_of(paper) for paper in block.papers])
        self.work.done(0, block=len(block.papers))
        with self.work.timed():
            while not wait([encoded], timeout=_LOOK).done:
                if self.work.stopped.is_set():
                    raise Halt
            encoded.result()
            try:
                made = read_block(self.storage, block.number).encoded(block.papers, self.plan)
            except InputError as error:
                raise UnavailableError(
                    f"A worker has written block {block.number}, and it can't be read here ({error.sentence})",
                    "give a folder that all machines share with <shards>",
                ) from error
        self.work.done(len(block.papers))
        return made

    def encode(self, block: PaperBlock) -> None:
        """Have a block encoded, unless its file is there."""
        task = BlockTask(str(self.storage), block.number, self.plan)
        stored = intact_block(self.storage, block.number)
        if stored and stored.plan == self.plan and stored.holds(block.papers):
            return
        write_texts(task, block, {})
        suspects: Counter[str] = Counter()
        tries = ended = unfit = 0
        reason, without = "", set[str]()
        while tries < _MOST_TRIES and not self.stopped.is_set():
            tries += 1
            try:
                result = self.pool.run(replace(task, careful=ended >= _CAREFUL), without)
            except WorkerEndedError as error:
                ended += 1
                reason = str(error)
                suspects.update(self._tried(task))
                found = [hash_ for hash_, times in suspects.items() if times == _CAREFUL]
                if len(found) > unfit:
                    write_texts(task, block, dict.fromkeys(found, "Workers ended whenever they encoded it."))
                    tries, unfit = 0, len(found)
                continue
            if not result.failure:
                self.storage.delete(task.texts)
                return
            if result.final:
                raise InputError(result.failure, result.hint)
            reason = result.failure
            without.add(result.place)
        raise UnavailableError(
            f"The workers could not encode block {block.number} in {tries} tries ({reason})",
            "correct that, and run the same command again to resume",
        )

    def _tried(self, task: BlockTask) -> list[str]:
        """Return the content hash of the paper that a worker tried alone when it ended, if it did."""
        with suppress(FileNotFoundError):
            hash_ = self.storage.read(task.trying).decode("ascii")
            self.storage.delete(task.trying)
            return [hash_]
        return []
