"""`GET /v1/facets/{field}`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Depends, Response
from pydantic import Field

from search_plugin.request import MAX_FACET_SIZE, MAX_QUERY, MAX_WINDOW, Mode
from ses.service.access import needs
from ses.service.answers import json_response
from ses.service.parameters import NoParameters, ServiceOf, asks, parameters_of

if TYPE_CHECKING:
    from search_plugin.contract.legs import Facets
    from ses.indexes.open_index import OpenIndex

router = APIRouter(prefix="/v1", tags=["search"], dependencies=[Depends(needs("search"))])


class FacetParameters(NoParameters):
    """The parameters of the values of a field; an unknown one is an error."""

    index: str = Field("", description="The index; the default one if none is named.")
    query: str = Field(
        "",
        description="The query of the search; without words, all papers of the filter are counted.",
        json_schema_extra={"maxLength": MAX_QUERY},
    )
    filter: list[str] = Field([], description="Conditions for every paper.")
    narrow: list[str] = Field([], description="Conditions that leave some of the papers found.")
    value: str = Field("", description="A text that values contain: each of its words begins a word of the value.")
    size: int = Field(20, description="Values.", json_schema_extra={"minimum": 1, "maximum": MAX_FACET_SIZE})
    mode: Mode = Field("hybrid", description="Search by words, by meaning, or by both.")
    window: int = Field(
        100,
        description="Candidates of each leg of the search.",
        json_schema_extra={"minimum": 1, "maximum": MAX_WINDOW},
    )


@router.get(
    "/facets/{field}",
    summary="Count the values of a field, and search within them",
    openapi_extra=parameters_of(FacetParameters),
)
def facets(service: ServiceOf, field: str, asked: Annotated[FacetParameters, asks(FacetParameters)]) -> Response:
    """Count the most frequent values of a field among the papers of a search, or only those that contain a text."""

    def count(opened: OpenIndex) -> Facets:
        return opened.facet(
            field,
            asked.query,
            value=asked.value,
            size=asked.size,
            filter=asked.filter,
            narrow=asked.narrow,
            mode=asked.mode,
            window=asked.window,
        )

    found = service.ask(asked.index, count)
    values = [{"value": value, "count": count} for value, count in found.counts[field]]
    return json_response({"field": field, "matches": found.matches, "counted": found.counted, "values": values})
