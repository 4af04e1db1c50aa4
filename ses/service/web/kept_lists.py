"""Lists that the browser keeps: saved searches at `/saved`, and the last searches at `/history`.

The service stores nothing, sets no cookie, and learns nothing of them.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request, Response

from ses.service.access import needs
from ses.service.web.address import PageOnly
from ses.service.web.render import html

router = APIRouter(include_in_schema=False, dependencies=[Depends(needs("search"))])


@router.get("/saved")
def saved(request: Request, _: Annotated[PageOnly, Query()]) -> Response:
    """Show the page on which a script lists the searches that this browser saved."""
    return html(request, "saved.html")


@router.get("/history")
def history(request: Request, _: Annotated[PageOnly, Query()]) -> Response:
    """Show the page on which a script lists the last searches in this browser."""
    return html(request, "history.html")
