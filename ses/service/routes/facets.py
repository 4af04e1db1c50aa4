"""`GET /v1/facets/{field}`."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Response

from ses.indexes.open_index import OpenIndex
from ses.service.access import needs
from ses.service.answers import json_response
from ses.service.parameters import ServiceOf, arguments_of, asks, parameters_for, parameters_of

router = APIRouter(prefix="/v1", tags=["search"], dependencies=[Depends(needs("search"))])


FacetParameters = parameters_for(OpenIndex.facet)


@router.get(
    "/facets/{field}",
    summary="Count the values of a field, and search within them",
    openapi_extra=parameters_of(FacetParameters),
)
def facets(service: ServiceOf, field: str, asked: Annotated[Any, asks(FacetParameters)]) -> Response:
    """Count the most frequent values of a field among the papers of a search, or only those that contain a text."""
    found = service.ask(asked.index, lambda opened: opened.facet(field, **arguments_of(asked)))
    values = [{"value": value, "count": count} for value, count in found.counts[field]]
    return json_response({"field": field, "matches": found.matches, "counted": found.counted, "values": values})
