"""The page of a search: `/`."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request, Response

from ses.service.access import needs
from ses.service.parameters import SearchParameters, ServiceOf
from ses.service.web.render import html

router = APIRouter(include_in_schema=False, dependencies=[Depends(needs("search"))])


@router.get("/")
def search(request: Request, service: ServiceOf, asked: Annotated[SearchParameters, Query()]) -> Response:
    """Show the box, and the hits of a query."""
    page = service.search(asked.index, asked.query, asked.options()) if asked.model_fields_set else None
    return html(request, "search.html", query=asked.query, page=page)
