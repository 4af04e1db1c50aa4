"""`GET /v1/facets/{field}`."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Response
from pydantic import BaseModel, ConfigDict, Field

from search_plugin.request import Mode
from ses.service.access import needs
from ses.service.answers import json_response
from ses.service.parameters import ServiceOf

router = APIRouter(prefix="/v1", tags=["search"], dependencies=[Depends(needs("search"))])


class FacetParameters(BaseModel):
    """The parameters of the values of a field; an unknown one is an error."""

    model_config = ConfigDict(extra="forbid")

    index: str = Field("", description="The index; the default one if none is named.")
    query: str = Field("", description="The query of the search; without words, all papers of the filter are counted.")
    filter: list[str] = Field([], description="Conditions for every paper.")
    value: str = Field("", description="A text that values contain: each of its words begins a word of the value.")
    size: int = Field(20, description="Values, from 1 to 1,000.")
    mode: Mode = Field("hybrid", description="Search by words, by meaning, or by both.")
    window: int = Field(100, description="Candidates of each leg of the search.")


@router.get("/facets/{field}", summary="Count the values of a field, and search within them")
def facets(service: ServiceOf, field: str, asked: Annotated[FacetParameters, Query()]) -> Response:
    """Count the most frequent values of a field among the papers of a search, or only those that contain a text."""
    opened = service.opened(asked.index)
    found = opened.facet(
        field,
        asked.query,
        value=asked.value,
        size=asked.size,
        filter=asked.filter,
        mode=asked.mode,
        window=asked.window,
    )
    values = [{"value": value, "count": count} for value, count in found.counts[field]]
    return json_response({"field": field, "matches": found.matches, "counted": found.counted, "values": values})
