"""`GET /v1/maps`."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Response
from pydantic import Field

from products.maps.search import MapSettings
from search_plugin.request import MAX_WINDOW
from ses.service.access import needs
from ses.service.answers import json_response
from ses.service.parameters import SearchParameters, ServiceOf, asks, parameters_for, parameters_of

router = APIRouter(prefix="/v1", tags=["search"], dependencies=[Depends(needs("search"))])


_OFFSET: dict[str, Any] = {"minimum": 0, "maximum": MAX_WINDOW - 1}


class MapInput(parameters_for(MapSettings, base=SearchParameters)):  # type: ignore[misc]  # made from the options
    """The parameters of a map: those of a search, with `size` and what else a map takes."""

    # A map has a paper at least, so it can't begin where the largest window ends.
    offset: int = Field(
        0,
        description="Papers before the first of the map.",
        json_schema_extra={"minimum": 0, "maximum": MAX_WINDOW - 1},
    )


@router.get(
    "/maps", summary="The papers of a search, placed by meaning, with topics", openapi_extra=parameters_of(MapInput)
)
def maps(service: ServiceOf, asked: Annotated[Any, asks(MapInput)]) -> Response:
    """Place the best papers of a search, so that near papers are near, and name the topics among them."""
    settings = {"topics": asked.topics, "projection": asked.projection}
    return json_response(service.map(asked.index, asked.query, {**settings, **asked.options()}).to_dict())
