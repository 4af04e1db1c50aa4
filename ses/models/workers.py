"""Worker processes on this machine that encode, and what a worker of any kind does."""

from __future__ import annotations

import functools
import os
import queue
import threading
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from corpora.cores import cores
from corpora.errors import require
from indexer.blocks import OwnPlan, PaperEncoder, SparsePlan, VectorPlan
from indexer.tasks import BlockResult, BlockTask, run_task
from indexer.workers import WorkerEndedError
from ses.settings import load_settings

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    from encoders.models.model import Model
    from ses.settings import Settings

WorkerSettings = tuple[tuple[str, Any], ...]
"""Settings with their values, of one worker."""


def running_of(settings: Settings) -> tuple[tuple[str, str], ...]:
    """Return how a model runs by the settings, for a `VectorPlan`."""
    return tuple((name, str(getattr(settings, name) or "")) for name in ("runtime", "precision", "long_text"))


def settings_of_worker(settings: Settings, threads: int) -> WorkerSettings:
    """Return the settings by which a worker runs a model; folders are its own machine's."""
    given = {name: getattr(settings, name) for name in ("runtime", "precision", "long_text")}
    chosen = {name: value for name, value in given.items() if value is not None}
    return tuple({**chosen, "threads": threads, "embedding_cache": False}.items())


def work_on(task: BlockTask, settings: WorkerSettings, place: str = "") -> BlockResult:
    """Run a task in a worker: it loads the model once."""
    return run_task(task, functools.partial(_loaded, settings), place)


@functools.lru_cache(maxsize=1)
def _loaded(settings: WorkerSettings, plan: VectorPlan) -> PaperEncoder:
    from encoders.registry import find_model
    from ses.models.loaded_model import make_encoder, make_sparse_encoder

    in_force = load_settings(**dict(settings))

    def found(wanted: VectorPlan | SparsePlan | OwnPlan) -> Model:
        model = find_model(wanted.model)
        require(
            model.card.fingerprint == wanted.fingerprint,
            f"A worker's model {wanted.model} has the fingerprint {model.card.fingerprint}, and the index needs "
            f"{wanted.fingerprint}",
            "give all machines the same files of the model",
        )
        return model

    sparse = [make_sparse_encoder(in_force, found(one)) for one in plan.sparse]
    own = {one.fingerprint: one for one in plan.own}.values()
    return PaperEncoder(
        plan,
        make_encoder(in_force, found(plan)),
        sparse[0] if sparse else None,
        {one.fingerprint: make_encoder(in_force, found(one)) for one in own},
    )


@contextmanager
def local_pool(workers: int, settings: Settings) -> Iterator[LocalPool]:
    """Provide worker processes on this machine, each with its share of the cores; they are ended with the block."""
    pool = LocalPool(workers, settings)
    try:
        yield pool
    finally:
        pool.close()


class LocalPool:
    """Worker processes on this machine, as `indexer.workers.WorkerPool`.

    Args:
        workers: How many.
        settings: Settings of the library.
    """

    def __init__(self, workers: int, settings: Settings) -> None:
        self.workers = workers
        threads = settings.threads or max(1, cores() // workers)
        self._settings = (*settings_of_worker(settings, threads), ("cache_dir", settings.cache_dir.resolve()))
        self._free: queue.SimpleQueue[_Process | None] = queue.SimpleQueue()
        self._all: list[_Process] = []
        self._lock, self._closed = threading.Lock(), False
        for _ in range(workers):
            self._start()

    def _start(self) -> None:
        with self._lock:
            if not self._closed:
                process = _Process(self._settings)
                self._all.append(process)
                self._free.put(process)

    def run(self, task: BlockTask, without: Collection[str]) -> BlockResult:  # noqa: ARG002 - there is one machine
        """Run a task in a process that is free; `WorkerEndedError` if it ended, and another one is started."""
        process = self._free.get()
        if process is None:
            self._free.put(None)  # for the next thread that waits
            raise WorkerEndedError("the processes were ended")
        try:
            result = process.run(task)
        except (EOFError, OSError):
            process.end()
            self._start()
            raise WorkerEndedError("the process ended") from None
        self._free.put(process)
        return result

    def close(self) -> None:
        """End the processes at once."""
        with self._lock:
            self._closed = True
        for process in self._all:
            process.end()
        self._free.put(None)


class _Process:
    """A process that runs one task after another."""

    def __init__(self, settings: WorkerSettings) -> None:
        from multiprocessing import get_context

        # A new interpreter: a fork of a process with threads may stop for ever.
        context = get_context("spawn")
        self._connection, there = context.Pipe()
        self._process = context.Process(target=_serve, args=(there, settings), daemon=True)
        self._process.start()
        there.close()

    def run(self, task: BlockTask) -> BlockResult:
        self._connection.send(task)
        result: BlockResult = self._connection.recv()
        return result

    def end(self) -> None:
        self._process.kill()
        self._process.join()


def _serve(tasks: Connection, settings: WorkerSettings) -> None:
    """Run tasks until the process that sends them is gone."""
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal sends it to all; the sender decides
    os.environ["RAYON_NUM_THREADS"] = str(dict(settings)["threads"])  # of the tokenizer
    with suppress(EOFError, OSError):
        while True:
            tasks.send(work_on(tasks.recv(), settings))
