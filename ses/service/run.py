"""Run the service under uvicorn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ses.service.connections import GuardedProtocol
from ses.service.logs import CONFIGURATION

if TYPE_CHECKING:
    from ses.library import Library
    from ses.service.settings import ServiceSettings


OPTIONS: Mapping[str, Any] = {
    "http": GuardedProtocol,
    "log_config": CONFIGURATION,
    "access_log": False,  # `RequestLog` writes it
    "proxy_headers": False,  # `Proxies` reads them
    "server_header": False,
}
"""What uvicorn leaves to the layers of ses."""


def run(library: Library, settings: ServiceSettings) -> None:
    """Serve a library until the process is asked to stop."""
    import uvicorn

    from ses.service.app import make_app
    from ses.service.service import Service

    app = make_app(Service(library, settings))
    uvicorn.run(
        app,
        host=settings.host,
        port=settings.port,
        root_path=settings.root_path,
        **OPTIONS,
    )
