"""`GET /v1/search`."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response

from ses.service import cursors
from ses.service.access import needs
from ses.service.answers import page_answer, read_answer
from ses.service.parameters import SearchAsked, ServiceOf, asks, parameters_of
from ses.service.schemas import PAGE

router = APIRouter(prefix="/v1", tags=["search"], dependencies=[Depends(needs("search"))])


@router.get(
    "/search", summary="Search by words and by meaning", responses=PAGE, openapi_extra=parameters_of(SearchAsked)
)
def search(request: Request, service: ServiceOf, asked: Annotated[SearchAsked, asks(SearchAsked)]) -> Response:
    """Search an index by words and by meaning at once; without words, list the papers that match the filter."""
    if asked.cursor:
        return read_answer(request, service, asked, cursors.search_page(service, asked), file="search")
    return page_answer(
        request, service, asked, lambda: service.search(asked.index, asked.query, asked.options()), file="search"
    )
