"""`/healthz` and `/readyz`: whether the process lives, and whether it can answer."""

from __future__ import annotations

from fastapi import APIRouter, Response

from ses.service.answers import json_response
from ses.service.parameters import ServiceOf

router = APIRouter(tags=["operation"])


@router.get("/healthz", summary="Whether the process lives")
def healthz() -> Response:
    """Answer without asking the engine."""
    return json_response({"status": "ok"})


@router.get("/readyz", summary="Whether requests can be answered")
def readyz(service: ServiceOf) -> Response:
    """Answer 200 if the default index can be searched, and 503 with the reason otherwise."""
    opened = service.opened()
    return json_response({"status": "ready", "index": opened.name})
