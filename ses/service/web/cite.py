"""References to papers, to be copied: `/cite` for some papers of an index in each style and as BibTeX."""

from __future__ import annotations

from functools import partial
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request, Response
from pydantic import Field

from ses.service.access import needs
from ses.service.parameters import ServiceOf
from ses.service.web.address import address
from ses.service.web.export import ExportParameters, as_hits, papers_asked
from ses.service.web.render import html
from ses.service.web.styles import STYLES

router = APIRouter(include_in_schema=False, dependencies=[Depends(needs("search"))])


class CiteParameters(ExportParameters):  # type: ignore[misc]  # made by create_model
    """The parameters of the page of references: papers by id, or the page of a search."""

    lang: str = Field("", description="Language of the page; the one that the browser prefers if empty.")


@router.get("/cite")
def cite(request: Request, service: ServiceOf, asked: Annotated[CiteParameters, Query()]) -> Response:
    """Show references to the selected papers, or else to the page of hits of a search."""
    from search_plugin.pages.page import FORMATS

    papers = papers_asked(service, asked)
    return html(
        request,
        "cite.html",
        papers=papers,
        references={name: [style(one) for one in papers] for name, style in STYLES.items()},
        bibtex=FORMATS["bibtex"](as_hits(papers)),
        index=asked.index,
        index_name=asked.index,
        given=[*(("id", one.id) for one in papers), *([("index", asked.index)] if asked.index else [])],
        address=partial(address, lang=asked.lang),
    )
