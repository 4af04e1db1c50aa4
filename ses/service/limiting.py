"""Limits of a request: its rate by key or address, the size of its body, and the time that the body takes."""

from __future__ import annotations

import asyncio
import math
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException

from ses.service.http_layer import HttpLayer, path_within
from ses.service.problems import problem
from ses.service.proxies import address_of

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from ses.service.access import Caller
    from ses.service.service import Service

BODY_SECONDS = 30.0
"""How long a client may take to send a body."""

_MOST_CLIENTS = 100_000
_UNLIMITED = ("/healthz", "/readyz", "/metrics", "/static/")


@dataclass(frozen=True, slots=True)
class Rate:
    """A number of requests in a time.

    Attributes:
        requests: How many are allowed at once.
        seconds: In this time as many are allowed again.
    """

    requests: int
    seconds: int


@dataclass(frozen=True, slots=True)
class Taken:
    """What is left of a rate after a request.

    Attributes:
        allowed: Whether the request is within the rate.
        remaining: How many more are allowed at once.
        reset: Seconds until all are allowed again.
        wait: Seconds until one more is allowed.
    """

    allowed: bool
    remaining: int
    reset: int
    wait: int


class Meter:
    """Counts requests of clients by the generic cell rate algorithm (ITU-T I.371), which keeps one number for each.

    `limits`, the usual library, looks at all clients in memory at each request.

    Args:
        rate: What is allowed.
        clock: Returns seconds that never go back.
        most: Clients that are remembered; beyond it, those that have asked least recently are forgotten.
    """

    def __init__(self, rate: Rate, clock: Callable[[], float] = time.monotonic, most: int = _MOST_CLIENTS) -> None:
        self.rate, self._clock, self._most = rate, clock, most
        self._full: OrderedDict[str, float] = OrderedDict()  # when a client's allowance is whole again

    def take(self, client: str) -> Taken:
        """Count a request of a client, if it is allowed."""
        now, step = self._clock(), self.rate.seconds / self.rate.requests
        before = max(self._full.get(client, now), now)
        left = (self.rate.seconds - (before - now)) / step
        allowed = left > 1 - 1e-9
        after = before + step if allowed else before
        if allowed:
            self._full[client] = after
            self._full.move_to_end(client)
            if len(self._full) > self._most:
                self._full.popitem(last=False)
        remaining = max(0, math.floor(left - allowed + 1e-9))
        return Taken(allowed, remaining, math.ceil(after - now - 1e-9), math.ceil((1 - left) * step))


class RateLimits(HttpLayer):
    """A layer that answers 429 to a client that asks too often, and says to every client what it has left.

    A key is counted by itself, others by address: of IPv6 by the network of 64 bits, which one client has. Each worker
    counts by itself. Requests from this machine have no address of a client, unless a declared proxy names one.
    """

    def __init__(self, app: ASGIApp, service: Service) -> None:
        super().__init__(app, service)
        settings = service.settings
        self._by_key, self._by_address = (
            Meter(Rate(*given)) if given else None for given in (settings.rate_per_key, settings.rate_per_address)
        )

    async def answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer 429."""
        name, client, meter = self._counted(scope)
        if not client or meter is None or path_within(scope).startswith(_UNLIMITED):
            await self.app(scope, receive, send)
            return
        taken = meter.take(client)
        headers = _headers(name, meter.rate, taken)
        if not taken.allowed:
            sentence = f"These are more than {meter.rate.requests:,} requests in {meter.rate.seconds:,} s."
            headers["Retry-After"] = str(max(1, taken.wait))
            await problem(429, sentence, hint=f"ask again in {max(1, taken.wait)} s", headers=headers)(
                scope, receive, send
            )
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(headers)
            await send(message)

        await self.app(scope, receive, send_with_headers)

    def _counted(self, scope: Scope) -> tuple[str, str, Meter | None]:
        caller: Caller = scope["state"]["caller"]
        if caller.key:
            return "key", caller.key, self._by_key
        address = address_of(scope)
        if address is None or address.is_loopback:
            return "", "", None
        client = str(address) if address.version == 4 else str(int(address) >> 64)
        return "address", client, self._by_address


class BodyLimits(HttpLayer):
    """A layer that answers 413 to a body that is too large, said or not, and 408 to one that takes too long."""

    async def answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, with its body as far as that is allowed."""
        most = self.service.settings.max_body
        said = Headers(scope=scope).get("content-length", "0")
        if not said.isdecimal() or len(said) > 18 or int(said) > most:
            error = _too_large(most)
            await problem(413, error.detail, headers=error.headers)(scope, receive, send)
            return
        read, complete = 0, False
        deadline = asyncio.get_running_loop().time() + BODY_SECONDS

        async def receive_some() -> Message:
            nonlocal read, complete
            if complete:  # what is received then is that the client has gone, which may take any time
                return await receive()
            try:
                async with asyncio.timeout_at(deadline):
                    message = await receive()
            except TimeoutError:
                raise HTTPException(408, "The body took too long; send it faster.", {"Connection": "close"}) from None
            complete = not message.get("more_body", False)
            read += len(message.get("body", b""))
            if read > most:
                raise _too_large(most)
            return message

        begun = False

        async def send_noted(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            await self.app(scope, receive_some, send_noted)
        except HTTPException as error:  # of a body that a layer has read
            if begun:
                raise
            await problem(error.status_code, error.detail, headers=error.headers)(scope, receive, send)


def _too_large(most: int) -> HTTPException:
    sentence = f"The body is larger than {most:,} bytes; send less at once."
    return HTTPException(413, sentence, {"Connection": "close"})


def _headers(name: str, rate: Rate, taken: Taken) -> dict[str, str]:
    """Return the headers of draft-ietf-httpapi-ratelimit-headers-10, and those that were usual before."""
    return {
        "RateLimit-Policy": f'"{name}";q={rate.requests};w={rate.seconds}',
        "RateLimit": f'"{name}";r={taken.remaining};t={taken.reset}',
        "RateLimit-Limit": str(rate.requests),
        "RateLimit-Remaining": str(taken.remaining),
        "RateLimit-Reset": str(taken.reset),
    }
