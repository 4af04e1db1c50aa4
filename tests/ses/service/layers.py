"""The service's layers around an application of a test."""

from __future__ import annotations

from pathlib import Path
from pkgutil import resolve_name
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from starlette.testclient import TestClient

from ses.service.app import LAYERS
from ses.service.metrics import Metrics
from ses.service.problems import add_handlers
from ses.service.settings import ServiceSettings
from ses.settings import load_settings

if TYPE_CHECKING:
    from fastapi import FastAPI


def layered(app: FastAPI, settings: ServiceSettings, data_dir: Path, **options: Any) -> TestClient:
    """Return a client of an application with all layers.

    Args:
        app: The application, with its routes.
        settings: Settings of the service.
        data_dir: Folder of the keys.
        **options: Of the client, such as its address.

    Returns:
        The client; faults are answers.
    """
    library = SimpleNamespace(data_dir=data_dir, _settings=load_settings(data_dir=data_dir))
    service = app.state.service = SimpleNamespace(settings=settings, library=library, metrics=Metrics(), stopping=False)
    for name in reversed(LAYERS):
        app.add_middleware(resolve_name(name), service=service)
    add_handlers(app)
    return TestClient(app, raise_server_exceptions=False, root_path=settings.root_path, **options)
