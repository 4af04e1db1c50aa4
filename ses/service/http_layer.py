"""What the layers around the routes have in common, and the layer for HEAD and OPTIONS, which every route answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Match
from starlette.types import ASGIApp, Message, Receive, Scope, Send

if TYPE_CHECKING:
    from ses.service.service import Service


class HttpLayer:
    """A layer that answers requests by HTTP or passes them on; what is no request goes through.

    Args:
        app: The application inside.
        service: The service, with its settings.
    """

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self.app, self.service = app, service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer what comes."""
        await (self.answer if scope["type"] == "http" else self.app)(scope, receive, send)

    async def answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or pass it on."""
        await self.app(scope, receive, send)


_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")


def path_within(scope: Scope) -> str:
    """Return the path of a request within the site: without that under which a proxy serves ses."""
    path: str = scope["path"]
    return path.removeprefix(scope.get("root_path", ""))


def allowed(scope: Scope) -> str:
    """Return the methods of an address as the header `Allow` lists them, such as `GET, HEAD, OPTIONS`.

    It is empty if nothing is there. The scope is of a request whose application is in it.
    """
    app: Starlette = scope["app"]
    found = [
        method
        for method in _METHODS
        if any(route.matches({**scope, "method": method})[0] is Match.FULL for route in app.router.routes)
    ]
    if not found:
        return ""
    return ", ".join([*found, *(["HEAD"] if "GET" in found else []), "OPTIONS"])


class EveryMethod:
    """A layer that answers HEAD as GET without the body, and OPTIONS by the methods of the address.

    Args:
        app: The layer below.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http" or scope["method"] not in ("HEAD", "OPTIONS"):
            await self.app(scope, receive, send)
        elif scope["method"] == "HEAD":
            inside = {**scope, "method": "GET"}
            try:
                await self.app(inside, receive, _without_body(send))
            finally:
                scope["route"] = inside.get("route")  # for the log and the figures
        elif methods := allowed(scope):
            await Response(status_code=204, headers={"Allow": methods})(scope, receive, send)
        else:
            await self.app(scope, receive, send)


def _without_body(send: Send) -> Send:
    async def send_head(message: Message) -> None:
        await send({**message, "body": b""} if message["type"] == "http.response.body" else message)

    return send_head
