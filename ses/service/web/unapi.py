"""unAPI (version 1): the records of a list's papers for reference managers, of which Zotero reads RIS.

A list has a link of the relation `unapi-server` to `/unapi/INDEX`, and an `<abbr class="unapi-id" title="ID">` for each
paper. The index is part of the path because clients append `?id=ID&format=NAME` to the address as it is. Zotero appends
the id as it stands, so a page writes it percent-encoded where that matters, and both forms are understood here.
"""

from __future__ import annotations

from contextlib import suppress
from http import HTTPStatus
from urllib.parse import quote, unquote
from xml.etree import ElementTree

from fastapi import APIRouter, Depends, Response
from starlette.exceptions import HTTPException

from corpora.errors import NotFoundError
from corpora.outgoing import in_a_line
from corpora.paper import Paper
from ses.indexes.open_index import OpenIndex
from ses.service.access import needs
from ses.service.parameters import ServiceOf
from ses.service.web.citation import MEDIA_TYPES
from ses.service.web.export import papers_as

router = APIRouter(include_in_schema=False, dependencies=[Depends(needs("search"))])

FORMATS = ("ris", "bibtex")
"""By the names that Zotero knows, in its order of preference."""


def unapi_id(paper_id: str) -> str:
    """Return an id as a page's `abbr` has it: what has a meaning in an address is percent-encoded."""
    return quote(paper_id, safe="/:;,@")


@router.get("/unapi")
@router.get("/unapi/{index}")
def unapi(service: ServiceOf, index: str = "", id: str = "", format: str = "") -> Response:  # noqa: A002 - of unAPI
    """List the formats, or return a paper in one of them; 300, 404 and 406 as unAPI says."""
    opened = service.opened(index)
    if not id:
        return _listed("", HTTPStatus.OK)
    papers = _papers(opened, id)
    if not format:
        return _listed(id, HTTPStatus.MULTIPLE_CHOICES)
    if format not in FORMATS:
        raise HTTPException(HTTPStatus.NOT_ACCEPTABLE, f"There is no format {in_a_line(format[:40])}.")
    return papers_as(papers, format)


def _papers(opened: OpenIndex, name: str) -> list[Paper]:
    with suppress(NotFoundError):
        return opened.find(name)
    return opened.find(unquote(name))


def _listed(name: str, status: HTTPStatus) -> Response:
    root = ElementTree.Element("formats", {"id": unapi_id(name)} if name else {})
    for form in FORMATS:
        ElementTree.SubElement(root, "format", name=form, type=MEDIA_TYPES[form])
    text = ElementTree.tostring(root, encoding="unicode", xml_declaration=True)
    return Response(text, status, media_type="application/xml")
