"""Serve an application over a socket, under uvicorn in a thread, while a test asks it."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import ses

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ses.library import Library


@contextmanager
def listening(app: Any, **options: Any) -> Iterator[tuple[str, int]]:
    """Run an application, with options of uvicorn; gives its host and port."""
    import uvicorn

    server = uvicorn.Server(uvicorn.Config(app, port=0, **{"log_level": "warning", **options}))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        thread.join(0.01)
    host, port = server.servers[0].sockets[0].getsockname()[:2]
    yield host, port
    server.should_exit = True
    thread.join()


def service_over(library: Library, **settings: Any) -> Any:
    """Return the application of a service over the indexes of a library."""
    from ses.service.app import make_app
    from ses.service.service import Service
    from ses.service.settings import load_service_settings

    return make_app(Service(ses.Library(library._settings), load_service_settings(**settings)))


@contextmanager
def served(library: Library) -> Iterator[str]:
    """Run a service over the indexes of a library; gives its address."""
    with listening(service_over(library)) as (host, port):
        yield f"http://{host}:{port}"
