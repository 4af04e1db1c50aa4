"""Several processes that answer on one socket, each replaced when it dies.

They are forked from a process that has imported the libraries, opened nothing and started no thread of its own, so that
they share the memory of the libraries. Each opens the library and the model itself: onnxruntime's threads would not
survive a fork. The weights of the model are mapped from a file, so all workers share these too.

uvicorn's own supervisor starts each worker as a new process, which imports everything again and shares only
the weights.
"""

from __future__ import annotations

import gc
import logging
import os
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from importlib.util import find_spec
from typing import NoReturn

from corpora.errors import UnavailableError

FOLDER = "PROMETHEUS_MULTIPROC_DIR"
"""Variable of the environment with the folder of the figures; read when prometheus-client is imported."""

_LIBRARIES = ("numpy", "orjson", "onnxruntime", "tokenizers", "tantivy", "faiss")
"""What most workers need; those of a cluster's client are imported by each."""

_SHORT_LIFE = 5.0
"""A worker that lived less long (seconds) is replaced after a wait."""

_WAIT = 1.0
_SPARE_SECONDS = 5.0
"""How much longer than its deadline a worker may take to end before it is killed."""

_Work = Callable[[int], None]
"""Answers requests until the process is asked to stop; receives how many workers were started before."""


def supervise(work: _Work, count: int, shutdown_seconds: float, stopping: Callable[[], object]) -> None:
    """Keep a number of workers at work until the process is asked to stop.

    Args:
        work: What a worker does.
        count: Number of workers.
        shutdown_seconds: How long a worker may take to end; after that and a few seconds more it is killed.
        stopping: Is called when the process is asked to stop, such as to close what this process holds open.

    Raises:
        UnavailableError: If the system can't fork processes safely, or there is no folder for temporary files.
    """
    if sys.platform != "linux":
        raise UnavailableError("Several workers need Linux", "leave <workers> out")
    for name in _LIBRARIES:
        if find_spec(name):
            import_module(name)
    # What the collector never visits again is not copied either.
    gc.collect()
    gc.freeze()
    with _folder():
        _Workers(work, shutdown_seconds, stopping).keep(count)


@contextmanager
def _folder() -> Iterator[None]:
    """Give the workers a folder for their figures."""
    with tempfile.TemporaryDirectory(prefix="ses-metrics-") as folder:
        os.environ[FOLDER] = folder
        try:
            yield
        finally:
            del os.environ[FOLDER]


class _Workers:
    """The running workers, by process id; each has the time when it was started."""

    def __init__(self, work: _Work, shutdown_seconds: float, stopping: Callable[[], object]) -> None:
        self._work, self._seconds, self._at_stop = work, shutdown_seconds, stopping
        self._running: dict[int, float] = {}
        self._started = 0
        self._stopping = False
        # Closed by the system when this process dies, however that happens.
        self._alive, self._life = os.pipe()

    def keep(self, count: int) -> None:
        handlers = {number: signal.signal(number, self._stop) for number in (signal.SIGTERM, signal.SIGINT)}
        handlers[signal.SIGALRM] = signal.signal(signal.SIGALRM, self._kill)
        try:
            for _ in range(count):
                self._start()
            while self._running:
                self._replace(*os.wait())
        finally:
            signal.alarm(0)
            for number, handler in handlers.items():
                signal.signal(number, handler)

    def _start(self) -> None:
        number, self._started = self._started, self._started + 1
        pid = os.fork()
        if not pid:
            self._be_worker(number)
        self._running[pid] = time.monotonic()
        if self._stopping:  # the signal came between
            os.kill(pid, signal.SIGTERM)

    def _replace(self, pid: int, status: int) -> None:
        since = self._running.pop(pid, None)
        if since is None or self._stopping:
            return
        log = logging.getLogger("ses.service")
        log.warning("The worker %d ended (%s); another one starts.", pid, os.waitstatus_to_exitcode(status))
        if time.monotonic() - since < _SHORT_LIFE:
            time.sleep(_WAIT)
        if not self._stopping:
            self._start()

    def _stop(self, *_: object) -> None:
        self._stopping = True
        self._at_stop()
        self._signal(signal.SIGTERM)
        signal.setitimer(signal.ITIMER_REAL, self._seconds + _SPARE_SECONDS)

    def _kill(self, *_: object) -> None:
        self._signal(signal.SIGKILL)

    def _signal(self, number: int) -> None:
        for pid in list(self._running):
            with suppress(ProcessLookupError):
                os.kill(pid, number)

    def _be_worker(self, number: int) -> NoReturn:
        """Work in the new process, and end it."""
        code = 1
        try:
            # Ctrl-C in a terminal reaches a whole group of processes: the supervisor passes it on, once.
            os.setpgid(0, 0)
            for one in (signal.SIGTERM, signal.SIGINT, signal.SIGALRM):
                signal.signal(one, signal.SIG_DFL)
            os.close(self._life)
            threading.Thread(target=self._end_with_supervisor, daemon=True).start()
            self._work(number)
            code = 0
        except BaseException:
            logging.getLogger("ses.service").exception("A worker failed.")
        finally:
            for stream in (sys.stdout, sys.stderr):
                with suppress(OSError, ValueError):
                    stream.flush()
            os._exit(code)

    def _end_with_supervisor(self) -> None:
        os.read(self._alive, 1)
        os.kill(os.getpid(), signal.SIGTERM)


def left_threads(seconds: float) -> list[threading.Thread]:
    """Return the threads that still run after a time, and would keep this process from its end."""
    until = time.monotonic() + seconds
    others = [one for one in threading.enumerate() if not one.daemon and one is not threading.main_thread()]
    for one in others:
        one.join(max(0.0, until - time.monotonic()))
    return [one for one in others if one.is_alive()]
