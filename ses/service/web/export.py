"""Papers for other programs: files at `/export`, references to copy at `/cite`, and unAPI (version 1) at `/unapi`.

The first two take the papers of a search, or those that a reader selected. unAPI gives reference managers the records
of a list's papers, of which Zotero reads RIS: a list has a link of the relation `unapi-server` to `/unapi/INDEX`, and
an `<abbr class="unapi-id" title="ID">` for each paper. The index is part of the path because clients append
`?id=ID&format=NAME` to the address as it is. Zotero appends the id as it stands, so a page writes it percent-encoded
where that matters, and both forms are understood here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from http import HTTPStatus
from typing import Annotated, Any, Literal, get_args
from urllib.parse import unquote
from xml.etree import ElementTree

from fastapi import APIRouter, Depends, Query, Request, Response
from pydantic import Field, create_model
from starlette.exceptions import HTTPException

from corpora.errors import InputError, NotFoundError, require
from corpora.outgoing import in_a_line
from corpora.paper import Paper
from search_plugin.pages.hit import Hit
from ses.indexes.open_index import OpenIndex
from ses.service.access import needs
from ses.service.answers import as_hits, json_response, page_content, saved_as
from ses.service.negotiation import ANSWER_FORMATS, JSON, AnswerFormat
from ses.service.parameters import SearchParameters, ServiceOf
from ses.service.service import Service
from ses.service.web.address import PageOnly, unapi_id
from ses.service.web.citation import json_value
from ses.service.web.render import html
from ses.service.web.styles import STYLES

router = APIRouter(include_in_schema=False, dependencies=[Depends(needs("search"))])

MOST_SELECTED = 500
"""Papers that one file can hold, if a reader selected them: more don't fit into an address."""

ExportFormat = Literal["json", "bibtex", "ris", "csv", "jsonl"]

FILE_FORMATS: Mapping[str, AnswerFormat] = {
    name: one for name in get_args(ExportFormat) for one in ANSWER_FORMATS if one.name == name
}
"""The formats that pages offer, by name and in the order in which they list them."""

ExportParameters = create_model(
    "ExportParameters",
    __base__=SearchParameters,
    id=(list[str], Field([], description="Papers to export; those of the search if none is named.")),
    all=(bool, Field(default=False, description="Whether to export every paper of the search, and not its page.")),
    listed=(list[str], Field([], description="Papers of the page, which are exported if none of them is selected.")),
    format=(ExportFormat, Field("bibtex", description="Format of the file.")),
)


def _every(service: Service, asked: Any) -> list[Hit]:
    """Return every paper of a search, as `ses search --all` does: by words, unless a condition or a mode says more."""
    from search_plugin.request import MAX_WINDOW

    given = {name: value for name, value in asked.options().items() if name not in ("offset", "facets", "size")}
    if asked.query and "mode" not in given:
        given["mode"] = "lexical"
    opened = service.opened(asked.index)
    hits = list(opened.iterate(asked.query, **given, size=1_000))
    if given.get("collapse") and len(hits) >= MAX_WINDOW:
        raise InputError(f"More than {MAX_WINDOW:,} papers match, too many to collapse", "narrow the search")
    return hits


def papers_asked(service: Service, asked: Any) -> list[Paper]:
    """Return the papers that a reader selected, in that order, or else those of the page of a search."""
    ids = list(dict.fromkeys(asked.id or asked.listed))
    if not ids:
        return [hit.paper for hit in service.search(asked.index, asked.query, asked.options())]
    require(len(ids) <= MOST_SELECTED, f"{len(ids):,} papers were selected", f"select at most {MOST_SELECTED} at once")
    opened = service.opened(asked.index)
    held = opened.index.papers(ids)
    if missing := [id_ for id_ in ids if id_ not in held]:
        raise NotFoundError(
            f"The index {opened.name} holds no paper {missing[0]!r}", "take it out of the selection, then try again"
        )
    return [held[id_] for id_ in ids]


def papers_as(papers: Sequence[Paper], form: str, name: str = "") -> Response:
    """Return papers as a response in a format of `FILE_FORMATS`; a browser saves it under a name, if one is given."""
    from search_plugin.pages.page import FORMATS

    chosen = FILE_FORMATS[form]
    headers = saved_as(name, chosen) if name else {}
    if chosen is JSON:
        return json_response({"papers": [json_value(one) for one in papers]}, headers=headers)
    return Response(FORMATS[form](as_hits(papers)), headers=headers, media_type=chosen.media_type)


@router.get("/export")
def export(service: ServiceOf, asked: Annotated[ExportParameters, Query()]) -> Response:  # type: ignore[valid-type]
    """Return the selected papers in the order selected, or else the page of hits of a search, as a file."""
    return _exported(service, asked)


def _exported(service: Service, asked: Any) -> Response:
    if asked.all:
        return papers_as([hit.paper for hit in _every(service, asked)], asked.format, "papers")
    if asked.id or asked.listed:
        return papers_as(papers_asked(service, asked), asked.format, "papers")
    page, chosen = service.search(asked.index, asked.query, asked.options()), FILE_FORMATS[asked.format]
    headers = saved_as("papers", chosen)
    if chosen is JSON:
        return json_response(page_content(page), headers=headers)
    return Response(page.format(asked.format), headers=headers, media_type=chosen.media_type)


class CiteParameters(ExportParameters, PageOnly):  # type: ignore[misc, valid-type]  # made by create_model
    """The parameters of the page of references: papers by id, or the page of a search."""


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
        given=[*(("id", one.id) for one in papers), *([("index", asked.index)] if asked.index else [])],
    )


UNAPI_FORMATS = ("ris", "bibtex")
"""By the names that Zotero knows, in its order of preference."""


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
    if format not in UNAPI_FORMATS:
        raise HTTPException(HTTPStatus.NOT_ACCEPTABLE, f"There is no format {in_a_line(format[:40])}.")
    return papers_as(papers, format)


def _papers(opened: OpenIndex, name: str) -> list[Paper]:
    with suppress(NotFoundError):
        return opened.find(name)
    return opened.find(unquote(name))


def _listed(name: str, status: HTTPStatus) -> Response:
    root = ElementTree.Element("formats", {"id": unapi_id(name)} if name else {})
    for form in UNAPI_FORMATS:
        ElementTree.SubElement(root, "format", name=form, type=FILE_FORMATS[form].plain_type)
    text = ElementTree.tostring(root, encoding="unicode", xml_declaration=True)
    return Response(text, status, media_type="application/xml")
