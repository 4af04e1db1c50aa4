"""`/search.json`: the hits of the page `/` for programs, with the page's own parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Depends, Request, Response

from ses.service.access import needs
from ses.service.answers import page_answer
from ses.service.parameters import ServiceOf, Shown, asks
from ses.service.web.narrowing import Narrowing, chosen
from ses.service.web.search import PageParameters

if TYPE_CHECKING:
    from search_plugin.pages.page import Page

router = APIRouter(include_in_schema=False, dependencies=[Depends(needs("search"))])


class TwinParameters(PageParameters, Shown):
    """The parameters of the page, and what to show of its hits; `view` and `lang` change nothing here."""


@router.get("/search.json")
def search(request: Request, service: ServiceOf, asked: Annotated[TwinParameters, asks(TwinParameters)]) -> Response:
    """Answer as `/v1/search`, with the values and years that a reader chose on the page."""

    def find() -> Page:
        narrowing = Narrowing(chosen(asked.only), asked.year_from, asked.year_to)
        given, end = asked.options(), asked.offset + asked.size
        typed = [one for one in given.pop("filter", ()) if one.strip()]
        if where := [*typed, *narrowing.filters(service.opened(asked.index).index.schema)]:
            given["filter"] = where
        if asked.query and end > asked.window:  # as readers page on
            given["window"] = end
        found: Page = service.search(asked.index, asked.query, given)
        return found

    return page_answer(request, service, asked, find, file="search")
