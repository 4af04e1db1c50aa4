"""`POST /mcp`: the tools of assistants, by the Model Context Protocol, with the keys and limits of the service."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from fastapi import APIRouter, Depends, Request
from starlette.exceptions import HTTPException
from starlette.responses import Response

from ses.service.access import needs
from ses.service.problems import public_message

if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
    from starlette.types import Receive, Scope, Send

    from ses.service.service import Service
    from ses.service.settings import ServiceSettings

router = APIRouter(tags=["search"], dependencies=[Depends(needs("search"))])

_HERE = ("127.0.0.1", "localhost", "[::1]")


class _Handled(Response):
    """What the SDK answers to a request."""

    def __init__(self, manager: StreamableHTTPSessionManager) -> None:
        super().__init__()
        self._manager = manager

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the SDK answer."""
        await self._manager.handle_request(scope, receive, send)


@router.post("/mcp", include_in_schema=False)
async def assistants(request: Request) -> Response:
    """Answer a message of an assistant, if the setting `mcp` allows it."""
    manager = request.app.state.assistants
    if manager is None:
        raise HTTPException(404)
    return _Handled(manager)


def assistants_of(service: Service) -> StreamableHTTPSessionManager | None:
    """Return what answers assistants; None without the setting `mcp`.

    Raises `UnavailableError` if the SDK is not installed.
    """
    settings = service.settings
    if not settings.mcp:
        return None
    from ses.assistants.server import make_server
    from ses.assistants.tools import Assistant

    server = make_server(
        Assistant(service.library, service.ask, settings.public_url.rstrip("/")),
        lambda error: public_message(error, service.library._settings),
    )
    from mcp.server.transport_security import TransportSecuritySettings

    names = names_of(settings)
    security = TransportSecuritySettings(
        allowed_hosts=[place for name in names for place in (name, f"{name}:*")],
        allowed_origins=[
            *settings.origins,
            *(f"{scheme}://{name}{port}" for name in names for scheme in ("http", "https") for port in ("", ":*")),
        ],
    )
    server.streamable_http_app(
        stateless_http=True, json_response=True, max_request_body_size=settings.max_body, transport_security=security
    )
    return server.session_manager


def names_of(settings: ServiceSettings) -> tuple[str, ...]:
    """Return the names under which assistants may ask: the SDK compares whole names, so those with `*` are left out."""
    public = urlsplit(settings.public_url).hostname
    return (*_HERE, *(name for name in settings.hosts if "*" not in name), *([public] if public else ()))


@asynccontextmanager
async def running(manager: StreamableHTTPSessionManager | None) -> AsyncIterator[None]:
    """Run what answers assistants, if there is anything, as long as the application runs."""
    if manager is None:
        yield
        return
    async with manager.run():
        yield
