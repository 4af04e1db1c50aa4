"""The layer that counts requests and their time."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from ses.service.service import Service


class Counted:
    """A layer that counts requests and their time.

    Args:
        app: The application inside.
        service: The service, with its figures.
    """

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self.app, self._metrics = app, service.metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and count it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began, status = time.perf_counter(), 500

        async def noting(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self.app(scope, receive, noting)
        finally:
            self._metrics.observe_request(scope, status, time.perf_counter() - began)
