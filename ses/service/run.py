"""Run the service: the socket that it listens on, and uvicorn in one process or in several.

Several are forked from a process that has imported the libraries, opened nothing and started no thread of its own: so
they share the memory of the libraries. Each opens the library and the model itself: onnxruntime's threads would not
survive a fork. The weights of the model are mapped from a file, so all workers share these too.

uvicorn's own supervisor starts each worker as a new process, which imports everything again and shares only
the weights.
"""

from __future__ import annotations

import copy
import errno
import gc
import logging
import math
import os
import signal
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib import import_module
from importlib.util import find_spec
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, NoReturn

from corpora.errors import InputError, NotFoundError, SesError, UnavailableError
from ses.service.connections import GuardedProtocol, GuardedServer
from ses.service.logs import CONFIGURATION

if TYPE_CHECKING:
    from ses.library import Library
    from ses.service.settings import ServiceSettings


_BACKLOG = 2048


def listen(settings: ServiceSettings) -> socket.socket:
    """Return a socket that listens at the host and the port of the settings.

    Raises `InputError` if there is no such address, or this machine has not got it, and `UnavailableError` if another
    program uses the port, or the system does not allow it.
    """
    host, port = settings.host, settings.port
    try:
        family, _, _, _, place = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
    except (socket.gaierror, UnicodeError) as error:
        hint = "give the name or the address of this machine as <host>"
        raise InputError(f"The address {host!r} can't be found", hint) from error
    made = socket.socket(family, socket.SOCK_STREAM)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(place)
        made.listen(_BACKLOG)
    except OSError as error:
        made.close()
        raise _explained(error, host, port) from error
    return made


def _explained(error: OSError, host: str, port: int) -> SesError:
    if error.errno == errno.EADDRINUSE:
        return UnavailableError(f"Another program uses port {port} of {host}", "stop it, or choose another <port>")
    if error.errno == errno.EADDRNOTAVAIL:
        return InputError(f"{host} is not an address of this machine", "give another <host>")
    if error.errno == errno.EACCES:
        hint = "choose a <port> of 1024 or more"
        return UnavailableError(f"The system does not allow ses to use port {port}", hint)
    return UnavailableError(f"ses can't listen on port {port} of {host} ({error.strerror})", "choose another <port>")


def address_of(listening: socket.socket, root_path: str) -> str:
    """Return the address of the page, for a reader on this machine."""
    host, port = listening.getsockname()[:2]
    shown = ip_address(host.partition("%")[0])
    if shown.is_unspecified:
        shown = ip_address("::1" if shown.version == 6 else "127.0.0.1")
    return f"http://{f'[{shown}]' if shown.version == 6 else shown}:{port}{root_path}/"


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


_LEAVING_SECONDS = 1.0
"""How long threads that have nothing more to do may take to end."""

Announce = Callable[[str, str, SesError | None], None]

OPTIONS: Mapping[str, Any] = {
    "http": GuardedProtocol,
    "log_config": CONFIGURATION,
    "access_log": False,  # `RequestLog` writes it
    "proxy_headers": False,  # `Proxies` reads them
    "server_header": False,
}
"""What uvicorn leaves to the layers of ses."""


def run(library: Library, settings: ServiceSettings, announce: Announce) -> None:
    """Serve a library until the process is asked to stop, by SIGTERM or Ctrl-C.

    Args:
        library: The library; several workers open it again.
        settings: Settings of the service.
        announce: Receives the address of the page and the name of the default index when it can be searched, and
            before that, once, the address and why it can't yet.

    Raises:
        InputError: If there is no such address, or the default index does not exist.
        UnavailableError: If another program uses the port, or the engine does not answer.
    """
    _check_default(library)
    with listen(settings) as listening:
        if settings.workers == 1:
            _serve(library, settings, listening, announce)
            return

        def work(number: int) -> None:
            # A connection to a cluster can't be shared by two processes: a copy connects by itself.
            _serve(copy.copy(library), settings, listening, announce if number == 0 else lambda *_: None)

        supervise(work, settings.workers, settings.shutdown_seconds, listening.close)


def _check_default(library: Library) -> None:
    """Raise `InputError` if there are indexes, but not the default one; the first one may be made at any time."""
    try:
        library.default()
    except NotFoundError:
        if library.indexes():
            raise


def _serve(library: Library, settings: ServiceSettings, listening: socket.socket, announce: Announce) -> None:
    import uvicorn

    # They import prometheus-client, which reads then whether there are workers (FOLDER).
    from ses.service.app import make_app
    from ses.service.service import Service

    address = address_of(listening, settings.root_path)

    def ready(error: SesError | None) -> None:
        announce(address, "" if error else library.default().name, error)

    service = Service(library, settings, ready)
    config = uvicorn.Config(
        make_app(service),
        root_path=settings.root_path,
        timeout_graceful_shutdown=math.ceil(settings.shutdown_seconds),
        **OPTIONS,
    )
    with _signals_end_the_server():
        GuardedServer(config, service).run([listening])
    if left_threads(_LEAVING_SECONDS):
        logging.getLogger("ses.service").warning("Requests that took too long were cut off.")
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        os._exit(0)  # Python would wait for the threads


@contextmanager
def _signals_end_the_server() -> Iterator[None]:
    """Let signals end the server only: uvicorn, when it has stopped, sends them again to the handlers before."""
    before = {number: signal.signal(number, lambda *_: None) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
