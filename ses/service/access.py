"""Who asks, and what they may do: API keys, and the scopes of routes."""

from __future__ import annotations

import base64
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fastapi import Request
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException

from corpora.errors import SesError
from ses.service.http_layer import HttpLayer
from ses.service.keys import SCOPES, Scope, keys_of, looks_like_key
from ses.service.problems import problem_of

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Send
    from starlette.types import Scope as Connection

    from ses.service.service import Service

CHALLENGE = {"WWW-Authenticate": 'Bearer realm="ses", Basic realm="ses", charset="UTF-8"'}
"""How to give a key: programs as a bearer token (RFC 6750), browsers as a password (RFC 7617)."""

_BY_BROWSERS: tuple[Scope, ...] = ("search", "encode")
"""What a key allows as a password: a browser sends it also with requests that other sites' pages make it send."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Who sends a request.

    Attributes:
        scopes: What they may do.
        key: Name of their key; empty for the anonymous.
        refused: Whether they gave a key of ses that is unknown, revoked or expired.
    """

    scopes: tuple[Scope, ...]
    key: str = ""
    refused: bool = False


class Authentication(HttpLayer):
    """A layer that finds out who sends a request; `needs` decides what they may.

    What has not the form of a key of ses is no key: some programs always send a placeholder.
    """

    def __init__(self, app: ASGIApp, service: Service) -> None:
        super().__init__(app, service)
        self._anonymous = Caller(tuple(one for one in SCOPES if one in service.settings.anonymous))
        self._keys = keys_of(service.library.data_dir)

    async def answer(self, scope: Connection, receive: Receive, send: Send) -> None:
        """Pass a request on with its caller as `request.state.caller`."""
        try:
            scope.setdefault("state", {})["caller"] = await self._caller(Headers(scope=scope))
        except SesError as error:
            await problem_of(Request(scope), error)(scope, receive, send)
            return
        await self.app(scope, receive, send)

    async def _caller(self, headers: Headers) -> Caller:
        given, by_browser = _given(headers)
        if not looks_like_key(given):
            return self._anonymous
        found = await run_in_threadpool(self._keys.find, given)
        if found is None:
            return Caller((), refused=True)
        scopes = tuple(one for one in found.scopes if one in _BY_BROWSERS) if by_browser else found.scopes
        return Caller(scopes, found.name)


def needs(scope: Scope) -> Callable[[Request], Awaitable[None]]:
    """Return a dependency of routes that lets only clients with a scope pass."""

    async def check(request: Request) -> None:
        caller: Caller = request.state.caller
        if caller.refused:
            raise HTTPException(401, "This key is unknown, was revoked or has expired; ask for a new one.", CHALLENGE)
        if scope in caller.scopes:
            return
        if caller.key:
            raise HTTPException(403, f"This key lacks the scope {scope}; ask for a key that has it.")
        raise HTTPException(401, f"This needs a key with the scope {scope}; send it as a bearer token.", CHALLENGE)

    check.scope = scope  # type: ignore[attr-defined]  # for tests that look for routes without one
    return check


def _given(headers: Headers) -> tuple[str, bool]:
    """Return the credential of a request, and whether it is a password, which browsers send by themselves."""
    kind, _, value = headers.get("authorization", "").partition(" ")
    if kind.lower() == "bearer":
        return value.strip(), False
    if kind.lower() == "basic":
        try:
            return base64.b64decode(value.strip(), validate=True).decode().partition(":")[2], True
        except ValueError:  # neither Base64 nor UTF-8
            return "", False
    return headers.get("x-api-key", ""), False
