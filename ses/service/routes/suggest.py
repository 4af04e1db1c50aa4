"""`GET /v1/suggest`."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Response
from pydantic import Field

from ses.indexes.open_index import OpenIndex
from ses.service.access import needs
from ses.service.answers import json_response
from ses.service.parameters import Parameters, ServiceOf, asks, parameters_for, parameters_of

router = APIRouter(prefix="/v1", tags=["search"], dependencies=[Depends(needs("search"))])


class _Typed(Parameters):
    """What was typed."""

    query: str = Field("", description="What was typed so far; there are no suggestions for an empty text.")


SuggestParameters = parameters_for(OpenIndex.complete, base=_Typed)


@router.get(
    "/suggest",
    summary="Suggest titles, authors, subjects and venues while typing",
    openapi_extra=parameters_of(SuggestParameters),
)
def suggest(service: ServiceOf, asked: Annotated[Any, asks(SuggestParameters)]) -> Response:
    """Suggest what begins like the text, grouped by kind: values with the number of their papers, titles with ids."""
    found = service.ask(asked.index, lambda opened: opened.complete(asked.query, size=asked.size))
    return json_response({"query": asked.query, **found.to_dict()})
