"""`/search.json`: the hits of the page `/` for programs, with the page's own parameters."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response

from ses.service.access import needs
from ses.service.answers import page_answer
from ses.service.parameters import ServiceOf, Shown, asks
from ses.service.web.search import PageParameters, page_of

router = APIRouter(include_in_schema=False, dependencies=[Depends(needs("search"))])


class TwinParameters(PageParameters, Shown):
    """The parameters of the page, and what to show of its hits; `view` and `lang` change nothing here."""


@router.get("/search.json")
def search(request: Request, service: ServiceOf, asked: Annotated[TwinParameters, asks(TwinParameters)]) -> Response:
    """Answer as `/v1/search`, with the values and years that a reader chose on the page."""
    return page_answer(request, service, asked, lambda: page_of(service, asked), file="search")
