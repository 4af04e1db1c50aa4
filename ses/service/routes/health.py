"""`/healthz`, `/readyz` and `/metrics`: what monitors ask."""

from __future__ import annotations

from http import HTTPStatus

from anyio.to_thread import run_sync
from fastapi import APIRouter, Request, Response
from prometheus_client import CONTENT_TYPE_LATEST

from corpora.errors import SesError
from ses.service.answers import json_response
from ses.service.parameters import ServiceOf
from ses.service.problems import message_and_hint, problem

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
        message, hint = message_and_hint(request, error)
        return problem(HTTPStatus.SERVICE_UNAVAILABLE, message, hint=hint)
    return json_response({"status": "ready", "index": name})


@router.get("/metrics", summary="Figures for Prometheus", response_class=Response)
async def metrics(service: ServiceOf) -> Response:
    """Answer with the figures of all workers, in the text format of Prometheus."""
    return Response(service.metrics.text(), media_type=CONTENT_TYPE_LATEST)
