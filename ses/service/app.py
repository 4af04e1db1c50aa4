"""The application: its routes and the layers around them.

A new group of routes is one file and one line of `ROUTERS`, and a new layer one line of `LAYERS`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version
from pkgutil import resolve_name

from anyio import CapacityLimiter
from anyio.to_thread import current_default_thread_limiter
from fastapi import FastAPI

from corpora.installed import DISTRIBUTION
from ses.products import product_routers
from ses.service.admission import heavy_turns
from ses.service.http_layer import EveryMethod
from ses.service.negotiation import Compression
from ses.service.openapi import describe
from ses.service.problems import add_handlers
from ses.service.routes.assistants import assistants_of, running
from ses.service.service import Service

ROUTERS = (
    "ses.service.routes.search:router",
    "ses.service.routes.encode:router",
    "ses.service.routes.embeddings:router",
    "ses.service.routes.rerank:router",
    "ses.service.routes.similar:router",
    "ses.service.routes.assistants:router",
    "ses.service.routes.papers:router",
    "ses.service.routes.indexes:router",
    *product_routers(),
    "ses.service.routes.health:router",
    "ses.service.web.search:router",
    "ses.service.web.paper:router",
    "ses.service.web.export:router",
    "ses.service.web.profile:router",
    "ses.service.web.discovery:router",
    "ses.service.web.similar:router",
    "ses.service.web.map:router",
    "ses.service.web.help:router",
    "ses.service.web.kept_lists:router",
    "ses.service.web.feeds:router",
    "ses.service.web.feeds:writing",
    "ses.service.web.docs:router",
    "ses.service.web.static_files:router",
)
"""The groups of routes."""

LAYERS = (
    "ses.service.headers:SecurityHeaders",
    "ses.service.proxies:Proxies",
    "ses.service.logs:RequestLog",
    "ses.service.tracing:traced",
    "ses.service.proxies:Hosts",
    "ses.service.headers:other_origins",
    "ses.service.limiting:BodyLimits",
    "ses.service.access:Authentication",
    "ses.service.limiting:RateLimits",
    "ses.service.admission:Admission",
)
"""The layers around the routes, from the outermost: each takes the application inside it and the service."""

_DESCRIPTION = "Search scientific papers by words and by meaning. Errors are problem details (RFC 9457)."


def make_app(service: Service) -> FastAPI:
    """Return the application that answers requests by a service, and closes it at the end."""
    assistants = assistants_of(service)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        threads = service.settings.concurrency + heavy_turns(service.settings)
        current_default_thread_limiter().total_tokens = threads
        service.warm()
        async with running(assistants):
            yield
        service.close()

    app = FastAPI(
        title="ses",
        version=version(DISTRIBUTION),
        description=_DESCRIPTION,
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    app.state.service, app.state.ready_limiter, app.state.assistants = service, CapacityLimiter(1), assistants
    for name in ROUTERS:
        app.include_router(resolve_name(name))
    app.add_middleware(EveryMethod)
    app.add_middleware(Compression)
    for name in reversed(LAYERS):  # the last one added is the first to see a request
        app.add_middleware(resolve_name(name), service=service)
    add_handlers(app)
    describe(app)
    return app
