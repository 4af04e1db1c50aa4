"""How many requests run at once, how many wait, and how long one may take."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

from starlette.exceptions import HTTPException

from ses.service.methods import path_within
from ses.service.problems import problem

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from ses.service.service import Service

_OPERATION = ("/healthz", "/readyz", "/metrics")
"""What a machine asks to learn how the service is: also when it is busy."""


class Admission:
    """A layer that lets `concurrency` requests run, `waiting` more wait, and refuses the others before memory grows.

    A body is read before its request counts as running, so that slow clients hold up nobody. A request that takes
    longer than `request_seconds` is answered with 503. Python can't stop a thread, so its work goes on, and it counts
    as running until it is done: else a slow engine would have any number of threads.

    Args:
        app: The application inside.
        service: The service, with its settings.
    """

    def __init__(self, app: ASGIApp, service: Service) -> None:
        settings = service.settings
        self.app, self._metrics = app, service.metrics
        self._most, self._seconds = settings.concurrency + settings.waiting, settings.request_seconds
        self._turns = asyncio.Semaphore(settings.concurrency)
        self._present = 0
        self._running: set[asyncio.Task[None]] = set()  # asyncio itself keeps no task

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer 503."""
        if scope["type"] != "http" or path_within(scope) in _OPERATION:
            await self.app(scope, receive, send)
            return
        if self._present >= self._most:
            self._metrics.count_refused()
            await problem(503, "Too many requests wait already; ask again in a few seconds.")(scope, receive, send)
            return
        answer = _Answer(send)
        self._present += 1
        task = asyncio.create_task(self._run(scope, receive, answer))
        self._running.add(task)
        task.add_done_callback(self._done)
        done, _ = await asyncio.wait({task}, timeout=self._seconds)
        if done:
            task.result()
        elif answer.begun:
            await task  # it is being sent, and how long that takes is the client's
        else:
            answer.late = True
            self._metrics.count_late()
            text = f"This took longer than {self._seconds:g} seconds; ask again later, or for less."
            await problem(503, text)(scope, receive, send)

    async def _run(self, scope: Scope, receive: Receive, answer: _Answer) -> None:
        try:
            body = await _read(scope, receive)
        except HTTPException as error:  # of the layer that limits bodies
            await problem(error.status_code, error.detail, headers=error.headers)(scope, receive, answer.send)
            return
        await self._turns.acquire()
        answer.at_beginning = self._turns.release
        try:
            if not answer.late:  # or nobody waits for it any more
                await self.app(scope, _again(body, receive), answer.send)
        finally:
            answer.begin()

    def _done(self, task: asyncio.Task[None]) -> None:
        self._present -= 1
        self._running.discard(task)
        with suppress(asyncio.CancelledError):
            task.exception()  # of a late one, which nobody asks for


class _Answer:
    """Sends an answer, unless another one was sent because this one was late."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.at_beginning: Callable[[], object] = lambda: None
        self.begun = self.late = False

    def begin(self) -> None:
        """End the turn, once: a client that reads slowly takes none."""
        self.at_beginning, end = (lambda: None), self.at_beginning
        end()

    async def send(self, message: Message) -> None:
        """Send a part of the answer."""
        self.begin()
        if not self.late:
            self.begun = True
            await self._send(message)


async def _read(scope: Scope, receive: Receive) -> list[Message]:
    """Return the parts of a body; none where the method has no body."""
    parts: list[Message] = []
    while scope["method"] not in ("GET", "HEAD", "OPTIONS"):
        parts.append(await receive())
        if not parts[-1].get("more_body"):
            break
    return parts


def _again(parts: list[Message], receive: Receive) -> Receive:
    """Return what gives the parts of a body again, and then what comes after them."""
    left = iter(parts)

    async def receiving() -> Message:
        return next(left, None) or await receive()

    return receiving
