"""`GET /v1/support`."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Response

from ses.indexes.open_index import OpenIndex
from ses.service.access import needs
from ses.service.answers import json_response
from ses.service.parameters import ServiceOf, arguments_of, asks, parameters_for, parameters_of

router = APIRouter(prefix="/v1", tags=["search"], dependencies=[Depends(needs("search"))])


SupportParameters = parameters_for(OpenIndex.support)


@router.get(
    "/support",
    summary="Papers with sentences near in meaning to a sentence",
    openapi_extra=parameters_of(SupportParameters),
)
def support(service: ServiceOf, asked: Annotated[Any, asks(SupportParameters)]) -> Response:
    """Find papers by a search, and compare a sentence with theirs; near ones may also contradict it."""
    found = service.ask(asked.index, lambda opened: opened.support(**{"sentence": "", **arguments_of(asked)}))
    return json_response(found.to_dict())
