"""`GET /v1/suggest`."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Response
from pydantic import Field

from ses.service.access import needs
from ses.service.answers import json_response
from ses.service.parameters import NoParameters, ServiceOf, asks, parameters_of

router = APIRouter(prefix="/v1", tags=["search"], dependencies=[Depends(needs("search"))])


class SuggestParameters(NoParameters):
    """The parameters of suggestions while typing; an unknown one is an error."""

    index: str = Field("", description="The index; the default one if none is named.")
    query: str = Field("", description="What was typed so far; there are no suggestions for an empty text.")
    size: int = Field(5, description="Suggestions of each kind.", json_schema_extra={"minimum": 1, "maximum": 100})


@router.get(
    "/suggest",
    summary="Suggest titles, authors, subjects and venues while typing",
    openapi_extra=parameters_of(SuggestParameters),
)
def suggest(service: ServiceOf, asked: Annotated[SuggestParameters, asks(SuggestParameters)]) -> Response:
    """Suggest what begins like the text, grouped by kind: values with the number of their papers, titles with ids."""
    found = service.ask(asked.index, lambda opened: opened.complete(asked.query, size=asked.size))
    return json_response({"query": asked.query, **found.to_dict()})
