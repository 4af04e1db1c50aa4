"""What the layers around the routes have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

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
