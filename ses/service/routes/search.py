"""`GET /v1/search`, `/v1/suggest` and `/v1/facets/{field}`."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request, Response
from pydantic import Field

from ses.indexes.open_index import OpenIndex
from ses.service import cursors
from ses.service.access import needs
from ses.service.answers import json_response, page_answer, read_answer
from ses.service.parameters import Parameters, SearchInput, ServiceOf, arguments_of, asks, parameters_for, parameters_of
from ses.service.schemas import PAGE

router = APIRouter(prefix="/v1", tags=["search"], dependencies=[Depends(needs("search"))])


@router.get(
    "/search", summary="Search by words and by meaning", responses=PAGE, openapi_extra=parameters_of(SearchInput)
)
def search(request: Request, service: ServiceOf, asked: Annotated[SearchInput, asks(SearchInput)]) -> Response:
    """Search an index by words and by meaning at once; without words, list the papers that match the filter."""
    if asked.cursor:
        return read_answer(request, service, asked, cursors.search_page(service, asked), file="search")
    return page_answer(
        request, service, asked, lambda: service.search(asked.index, asked.query, asked.options()), file="search"
    )


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
