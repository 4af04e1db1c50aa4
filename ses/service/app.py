"""The application: its routes and the layers around them.

A new group of routes is one file and one line of `ROUTERS`, and a new layer one line of `LAYERS`. A group is imported
at the first request for one of its paths, or by the thread that warms the service, once that is ready.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import cached_property
from importlib.metadata import version
from itertools import chain
from pkgutil import resolve_name

from anyio import CapacityLimiter
from anyio.to_thread import current_default_thread_limiter
from fastapi import APIRouter, FastAPI
from starlette.datastructures import URLPath
from starlette.routing import BaseRoute, Match
from starlette.types import Receive, Scope, Send

from corpora.installed import DISTRIBUTION
from ses.products import product_routers
from ses.service.admission import heavy_turns
from ses.service.http_layer import EveryMethod, path_within
from ses.service.negotiation import Compression
from ses.service.openapi import describe
from ses.service.problems import add_handlers
from ses.service.routes.assistants import assistants_of, running
from ses.service.service import Service

ROUTERS: Mapping[str, tuple[str, ...]] = {
    "ses.service.routes.search:router": ("/v1/search", "/v1/suggest", "/v1/facets"),
    "ses.service.routes.encode:router": ("/v1/encode",),
    "ses.service.routes.embeddings:router": ("/v1/embeddings",),
    "ses.service.routes.rerank:router": ("/v1/rerank", "/v2/rerank"),
    "ses.service.routes.similar:router": ("/v1/similar",),
    "ses.service.routes.assistants:router": ("/mcp",),
    "ses.service.routes.papers:router": ("/v1/papers",),
    "ses.service.routes.indexes:router": ("/v1/indexes",),
    **{place: (f"/v1/{name}",) for name, place in product_routers()},
    "ses.service.routes.health:router": ("/healthz", "/readyz", "/metrics"),
    "ses.service.web.search:router": ("/", "/search"),
    "ses.service.web.paper:router": ("/papers",),
    "ses.service.web.export:router": ("/export", "/cite", "/unapi"),
    "ses.service.web.profile:router": ("/authors", "/venues"),
    "ses.service.web.discovery:router": ("/opensearch", "/search", "/suggest"),
    "ses.service.web.similar:router": ("/similar",),
    "ses.service.web.map:router": ("/map",),
    "ses.service.web.help:router": ("/help", "/tags"),
    "ses.service.web.kept_lists:router": ("/saved", "/history"),
    "ses.service.web.feeds:router": ("/feeds",),
    "ses.service.web.feeds:writing": ("/feeds",),
    "ses.service.web.docs:router": ("/docs",),
    "ses.service.web.static_files:router": ("/static",),
}
"""The groups of routes, and how the paths of each begin: what follows is nothing, `/` or `.`."""

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


class RouteGroup(BaseRoute):
    """A group of routes, imported when a path may be one of theirs.

    Args:
        place: Where its router is, as `module:attribute`.
        paths: How its paths begin.
    """

    def __init__(self, place: str, paths: tuple[str, ...]) -> None:
        self._place, self._paths = place, paths

    @cached_property
    def router(self) -> APIRouter:
        """The routes."""
        router = APIRouter(redirect_slashes=False)
        router.include_router(resolve_name(self._place))
        return router

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Return whether a route of the group answers a request."""
        path = path_within(scope)
        if not any(path.startswith(one) and path[len(one) : len(one) + 1] in ("", "/", ".") for one in self._paths):
            return Match.NONE, {}
        found = [route.matches(scope)[0] for route in self.router.routes]
        return max(found, key=lambda match: match.value), {}

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the route that matches answer a request."""
        await self.router(scope, receive, send)

    def url_path_for(self, name: str, /, **path_params: object) -> URLPath:
        """Return the address of a route by its name, or raise `NoMatchFound`."""
        return self.router.url_path_for(name, **path_params)


def make_app(service: Service) -> FastAPI:
    """Return the application that answers requests by a service, and closes it at the end."""
    assistants = assistants_of(service)
    groups = [RouteGroup(place, paths) for place, paths in ROUTERS.items()]

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        threads = service.settings.concurrency + heavy_turns(service.settings)
        current_default_thread_limiter().total_tokens = threads
        service.warm(lambda: [group.router for group in groups])
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
        routes=[*groups],
    )
    app.state.service, app.state.ready_limiter, app.state.assistants = service, CapacityLimiter(1), assistants
    app.add_middleware(EveryMethod)
    app.add_middleware(Compression)
    for name in reversed(LAYERS):  # the last one added is the first to see a request
        app.add_middleware(resolve_name(name), service=service)
    add_handlers(app)
    describe(app, lambda: [*chain.from_iterable(group.router.routes for group in groups)])
    return app
