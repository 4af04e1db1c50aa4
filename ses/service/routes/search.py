"""`GET /v1/search`."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Response

from ses.service.access import needs
from ses.service.answers import json_response, page_content
from ses.service.parameters import SearchParameters, ServiceOf

router = APIRouter(prefix="/v1", tags=["search"], dependencies=[Depends(needs("search"))])


@router.get("/search", summary="Search by words and by meaning")
def search(service: ServiceOf, asked: Annotated[SearchParameters, Query()]) -> Response:
    """Search an index by words and by meaning at once; without words, list the papers that match the filter."""
    page = service.search(asked.index, asked.query, asked.options())
    return json_response(page_content(page))
