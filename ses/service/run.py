"""Run the service under uvicorn."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ses.library import Library
    from ses.service.settings import ServiceSettings


def run(library: Library, settings: ServiceSettings) -> None:
    """Serve a library until the process is asked to stop."""
    import uvicorn

    from ses.service.app import make_app
    from ses.service.connections import GuardedProtocol
    from ses.service.logs import CONFIGURATION
    from ses.service.service import Service

    app = make_app(Service(library, settings))
    uvicorn.run(
        app,
        host=settings.host,
        port=settings.port,
        root_path=settings.root_path,
        http=GuardedProtocol,
        log_config=CONFIGURATION,
        access_log=False,
        proxy_headers=False,
        server_header=False,
    )
