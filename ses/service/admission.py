"""How many requests run at once, how many wait, and how long one may take."""

from __future__ import annotations

import asyncio
import re
from contextlib import suppress
from typing import TYPE_CHECKING

from starlette.exceptions import HTTPException

from ses.service.http_layer import HttpLayer, path_within
from ses.service.problems import problem

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from ses.service.service import Service
    from ses.service.settings import ServiceSettings

_OPERATION = ("/healthz", "/readyz", "/metrics")
"""What a machine asks to learn how the service is: also when it is busy."""

HEAVY = re.compile(r"/(map(\.json)?|v1/maps)$|(/v1)?/feeds/")
"""The paths of requests that take many times the work of a search."""

_HEAVY_BODY = 100_000
"""A larger body (bytes) holds many texts to encode."""

_HELD_BODIES = 64
"""Bodies of the largest size that may be in memory together, whole or in part."""


def heavy_turns(settings: ServiceSettings) -> int:
    """Return how many heavy requests run at once, beside the others."""
    return max(1, settings.concurrency // 4)


class Admission(HttpLayer):
    """A layer that lets some requests run, lets more wait, and refuses the others before memory grows.

    `concurrency` requests run and `waiting` wait. Heavy ones have turns of their own, a quarter as many, and a tenth of
    the places to wait, so that they hold up each other alone.

    A body is read before its request waits or runs, so that slow clients hold up nobody. A request that takes longer
    than `request_seconds` after that is answered with 503. Python can't stop a thread, so its work goes on, and it
    counts as running until it is done: else a slow engine would have any number of threads.
    """

    def __init__(self, app: ASGIApp, service: Service) -> None:
        super().__init__(app, service)
        settings = service.settings
        self._metrics, self._seconds = service.metrics, settings.request_seconds
        self._light = _Lane(settings.concurrency, settings.waiting)
        self._heavy = _Lane(heavy_turns(settings), -(-settings.waiting // 10))
        self._held, self._most_held = 0, _HELD_BODIES * settings.max_body
        self._running: set[asyncio.Task[None]] = set()  # asyncio itself keeps no task

    async def answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer 503."""
        if (path := path_within(scope)) in _OPERATION:
            await self.app(scope, receive, send)
            return
        lane = self._heavy if HEAVY.match(path) else self._light
        body = _Body()
        try:
            if not lane.is_full() and await self._read(scope, receive, body):
                if body.size > _HEAVY_BODY:
                    lane = self._heavy
                if not lane.is_full():
                    await self._admit(lane, scope, body.again(receive), send)
                    return
        except HTTPException as error:  # of the layer that limits bodies
            await problem(error.status_code, error.detail, headers=error.headers)(scope, receive, send)
            return
        finally:
            self._held -= body.size
        if not body.left:
            self._metrics.count_refused()
            await problem(503, "Too many requests wait already; ask again in a few seconds.")(scope, receive, send)

    async def _read(self, scope: Scope, receive: Receive, body: _Body) -> bool:
        """Read a body; return False if its client has left, or the bodies of all clients are too much to hold."""
        more = scope["method"] not in ("GET", "HEAD", "OPTIONS")
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                body.left = True
                return False
            self._held += body.add(message)
            if self._held > self._most_held:
                return False
            more = message.get("more_body", False)
        return True

    async def _admit(self, lane: _Lane, scope: Scope, receive: Receive, send: Send) -> None:
        answer = _Answer(send)
        task = asyncio.create_task(self._run(lane, scope, receive, answer))
        lane.present += 1
        self._running.add(task)
        task.add_done_callback(lambda done: self._done(lane, done))
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

    async def _run(self, lane: _Lane, scope: Scope, receive: Receive, answer: _Answer) -> None:
        await lane.turns.acquire()
        answer.at_beginning = lane.turns.release
        try:
            if not answer.late:  # or nobody waits for it any more
                await self.app(scope, receive, answer.send)
        finally:
            answer.begin()

    def _done(self, lane: _Lane, task: asyncio.Task[None]) -> None:
        lane.present -= 1
        self._running.discard(task)
        with suppress(asyncio.CancelledError):
            task.exception()  # of a late one, which nobody asks for


class _Lane:
    """Requests that run and wait together."""

    def __init__(self, running: int, waiting: int) -> None:
        self.turns, self.present, self._most = asyncio.Semaphore(running), 0, running + waiting

    def is_full(self) -> bool:
        return self.present >= self._most


class _Body:
    """The parts of a body that were read; `left` says whether its client has gone meanwhile."""

    def __init__(self) -> None:
        self._parts: list[Message] = []
        self.size, self.left = 0, False

    def add(self, message: Message) -> int:
        """Keep a part, and return its size."""
        self._parts.append(message)
        size = len(message.get("body", b""))
        self.size += size
        return size

    def again(self, receive: Receive) -> Receive:
        """Return what gives the parts again, and then what comes after them."""
        left = iter(self._parts)

        async def receiving() -> Message:
            return next(left, None) or await receive()

        return receiving


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
