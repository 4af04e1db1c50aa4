"""`/metrics`: figures for Prometheus."""

from __future__ import annotations

from fastapi import APIRouter, Response
from prometheus_client import CONTENT_TYPE_LATEST

from ses.service.parameters import ServiceOf

router = APIRouter(tags=["operation"])


@router.get("/metrics", summary="Figures for Prometheus", response_class=Response)
async def metrics(service: ServiceOf) -> Response:
    """Answer with the figures of all workers, in the text format of Prometheus."""
    return Response(service.metrics.text(), media_type=CONTENT_TYPE_LATEST)
