"""`/healthz` and `/readyz`: whether the process lives, and whether it can answer."""

from __future__ import annotations

from http import HTTPStatus

from anyio.to_thread import run_sync
from fastapi import APIRouter, Request, Response

from corpora.errors import SesError
from ses.service.answers import json_response
from ses.service.parameters import ServiceOf
from ses.service.problems import problem
from ses.service.withheld import told

router = APIRouter(tags=["operation"])


@router.get("/healthz", summary="Whether the process lives")
async def healthz() -> Response:
    """Answer without asking the engine, and without waiting for a thread."""
    return json_response({"status": "ok"})


@router.get("/readyz", summary="Whether requests can be answered")
async def readyz(request: Request, service: ServiceOf) -> Response:
    """Answer 200 if the default index can be searched, and 503 with the reason otherwise."""
    # A thread of its own, because searches may keep all others busy.
    try:
        name = await run_sync(service.ready, limiter=request.app.state.ready_limiter)
    except SesError as error:
        message, hint = told(request, error)
        return problem(HTTPStatus.SERVICE_UNAVAILABLE, message, hint=hint)
    return json_response({"status": "ready", "index": name})
