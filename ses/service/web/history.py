"""The last searches of a reader: `/history`. The browser keeps them; the service stores nothing, and sets no cookie."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request, Response

from ses.service.access import needs
from ses.service.web.feeds import PageOnly
from ses.service.web.render import html

router = APIRouter(include_in_schema=False, dependencies=[Depends(needs("search"))])


@router.get("/history")
def history(request: Request, _: Annotated[PageOnly, Query()]) -> Response:
    """Show the page on which a script lists the last searches in this browser."""
    return html(request, "history.html")
