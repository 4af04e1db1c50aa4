"""The application: its routes and the layers around them.

A new group of routes is one file and one line of `ROUTERS`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version
from pkgutil import resolve_name
from typing import TYPE_CHECKING

from fastapi import FastAPI

from ses.service.problems import add_handlers

if TYPE_CHECKING:
    from ses.service.service import Service

ROUTERS = (
    "ses.service.routes.search:router",
    "ses.service.routes.suggest:router",
    "ses.service.routes.facets:router",
    "ses.service.routes.health:router",
    "ses.service.web.search:router",
    "ses.service.web.static_files:router",
)
"""The groups of routes."""

_DESCRIPTION = "Search scientific papers by words and by meaning. Errors are problem details (RFC 9457)."


def make_app(service: Service) -> FastAPI:
    """Return the application that answers requests by a service, and closes it at the end."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        service.close()

    app = FastAPI(
        title="ses",
        version=version("ses"),
        description=_DESCRIPTION,
        root_path=service.settings.root_path,
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
    )
    app.state.service = service
    for name in ROUTERS:
        app.include_router(resolve_name(name))
    add_handlers(app)
    return app
