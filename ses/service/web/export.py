"""Papers in files of other programs: `/export` for the papers of a search or those that a reader selected."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Query, Response
from pydantic import Field, create_model

from corpora.errors import InputError, NotFoundError, require
from corpora.paper import Paper
from search_plugin.pages.hit import Hit
from ses.service.access import needs
from ses.service.answers import json_response, page_content
from ses.service.parameters import SearchParameters, ServiceOf
from ses.service.service import Service
from ses.service.web.citation import ENDINGS, MEDIA_TYPES, json_value

router = APIRouter(include_in_schema=False, dependencies=[Depends(needs("search"))])

MOST_SELECTED = 500
"""Papers that one file can hold, if a reader selected them: more don't fit into an address."""

ExportFormat = Literal["bibtex", "ris", "csv", "jsonl", "json"]

ExportParameters = create_model(
    "ExportParameters",
    __base__=SearchParameters,
    id=(list[str], Field([], description="Papers to export; those of the search if none is named.")),
    all=(bool, Field(default=False, description="Whether to export every paper of the search, and not its page.")),
    listed=(list[str], Field([], description="Papers of the page, which are exported if none of them is selected.")),
    format=(ExportFormat, Field("bibtex", description="Format of the file.")),
)


def as_hits(papers: Sequence[Paper]) -> tuple[Hit, ...]:
    """Return papers as hits, ranked as they are, which is what formats take."""
    from search_plugin.pages.hit import Hit

    return tuple(Hit(rank, paper, 0.0, {}, ()) for rank, paper in enumerate(papers, start=1))


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


def papers_as(papers: Sequence[Paper], form: str, headers: Mapping[str, str] | None = None) -> Response:
    """Return papers as a response in a format of `FORMATS`, or in JSON."""
    from search_plugin.pages.page import FORMATS

    if form == "json":
        return json_response({"papers": [json_value(one) for one in papers]}, headers=dict(headers or {}))
    return Response(FORMATS[form](as_hits(papers)), 200, headers, media_type=f"{MEDIA_TYPES[form]}; charset=utf-8")


@router.get("/export")
def export(service: ServiceOf, asked: Annotated[ExportParameters, Query()]) -> Response:  # type: ignore[valid-type]
    """Return the selected papers in the order selected, or else the page of hits of a search, as a file."""
    return _exported(service, asked)


def _exported(service: Service, asked: Any) -> Response:
    form: str = asked.format
    name = f'attachment; filename="papers{ENDINGS[form]}"'
    if asked.all:
        return papers_as([hit.paper for hit in _every(service, asked)], form, {"Content-Disposition": name})
    if asked.id or asked.listed:
        return papers_as(papers_asked(service, asked), form, {"Content-Disposition": name})
    page = service.search(asked.index, asked.query, asked.options())
    if form == "json":
        return json_response(page_content(page), headers={"Content-Disposition": name})
    return Response(
        page.format(form), 200, {"Content-Disposition": name}, media_type=f"{MEDIA_TYPES[form]}; charset=utf-8"
    )
