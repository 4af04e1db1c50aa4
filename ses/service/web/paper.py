"""A paper's own page: `/papers/ID`, and the same as JSON, BibTeX, RIS, CSV and JSON Lines.

The page shows a structured abstract in its parts.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from fastapi import APIRouter, Depends, Query, Request, Response
from starlette.exceptions import HTTPException
from starlette.responses import RedirectResponse

from corpora.errors import NotFoundError, SesError
from corpora.identifiers import link_of
from ses.service.access import needs
from ses.service.answers import json_response, page_content
from ses.service.parameters import ServiceOf
from ses.service.web.address import PageOfIndex, PaperName, address, site_address
from ses.service.web.citation import (
    citation,
    highwire,
    identifier_links,
    json_ld,
    json_value,
    reference_link,
    signposts,
)
from ses.service.web.export import FILE_FORMATS, papers_as
from ses.service.web.render import html
from ses.service.web.styles import STYLES

if TYPE_CHECKING:
    from corpora.custom import FieldValue
    from corpora.paper import Paper
    from products.citations import IndexedReference
    from search_plugin.pages.page import Page
    from ses.indexes.open_index import OpenIndex
    from ses.service.service import Service


router = APIRouter(include_in_schema=False, dependencies=[Depends(needs("search"))])

_NEAR = 10
_CITING = 20


@dataclass(frozen=True, slots=True)
class ShownForecast:
    """A forecast of a paper, with the ends of its interval; all are percentiles."""

    name: str
    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class PaperView:
    """What the page of a paper shows.

    Attributes:
        paper: The paper.
        tags: Its tags by tagger, each with its probability, the most probable first; None where that is not known.
        forecasts: Its forecasts.
        custom: Names, kinds and values of its custom fields.
        references: The papers it cites.
        cited_by: Papers of the index that cite it.
        similar: Papers like it; None where it has no vector.
    """

    paper: Paper
    tags: dict[str, list[tuple[str, float | None]]]
    forecasts: list[ShownForecast]
    custom: list[tuple[str, str, FieldValue]]
    references: list[IndexedReference]
    cited_by: Page
    similar: Page | None

    def to_dict(self) -> dict[str, Any]:
        """Return the view as plain values, ready for JSON."""
        return {
            "paper": json_value(self.paper),
            "citation": citation(self.paper),
            "tags": {
                name: [{"label": label, "probability": p} for label, p in tags] for name, tags in self.tags.items()
            },
            "forecasts": [asdict(one) for one in self.forecasts],
            "references": [
                {"identifier": one.identifier, "id": one.paper and one.paper.id, "title": one.paper and one.paper.title}
                for one in self.references
            ],
            "cited_by": page_content(self.cited_by),
            "similar": page_content(self.similar) if self.similar else None,
        }


def view_of(service: Service, opened: OpenIndex, paper: Paper) -> PaperView:
    """Read what the page of a paper shows."""
    fields = {field.name: field for field in opened.index.schema.added if field.name in paper.extra}
    similar = None
    with suppress(SesError):  # without a vector there are no papers like it
        similar = opened.similar(paper.id, size=_NEAR)
    return PaperView(
        paper,
        {name: _tags(service, opened, paper, name) for name, field in fields.items() if field.origin == "tag"},
        _forecasts(paper, [name for name, field in fields.items() if field.origin == "forecast"]),
        [(name, field.kind, paper.extra[name]) for name, field in fields.items() if field.origin == "custom"],
        opened.references(paper.id),
        opened.cited_by(paper.id, size=_CITING),
        similar,
    )


def _tags(service: Service, opened: OpenIndex, paper: Paper, name: str) -> list[tuple[str, float | None]]:
    value = paper.extra[name]
    given = value if isinstance(value, tuple) else (str(value),)
    likely: dict[str, float] = {}
    with suppress(SesError):  # the index may outlive its tagger
        likely = service.library.tags.probabilities(name, opened.name, [paper.id]).get(paper.id, {})
    return sorted(((label, likely.get(label)) for label in given), key=lambda one: (-(one[1] or 0), one[0]))


def _forecasts(paper: Paper, names: list[str]) -> list[ShownForecast]:
    values = {name: value for name in names if isinstance(value := paper.extra[name], int | float)}
    whole = (name for name in values if {f"{name}_low", f"{name}_high"} <= values.keys())
    return [ShownForecast(name, values[name], values[f"{name}_low"], values[f"{name}_high"]) for name in whole]


@router.get("/papers/{name:path}")
def paper(request: Request, service: ServiceOf, name: PaperName, asked: Annotated[PageOfIndex, Query()]) -> Response:
    """Show a paper by any of its identifiers; an ending such as `.json` or `.bib` chooses another form."""
    opened = service.opened(asked.index)
    name, form, found = _find(opened, name)
    if len(found) > 1:
        values = [json_value(one) for one in found]
        if form == "json":
            return json_response({"papers": values})
        if form:
            return papers_as(found, form)
        return html(request, "papers.html", name=name, papers=found)
    (one,) = found
    if one.id != name:
        ending = f".{FILE_FORMATS[form].suffix}" if form else ""
        place = address("/papers/", name=one.id, ending=ending, index=asked.index, lang=asked.lang)
        return RedirectResponse(request.scope.get("root_path", "") + place, 302)
    if form == "json":
        return json_response({"index": opened.name, **view_of(service, opened, one).to_dict()})
    if form:
        return papers_as([one], form, one.id)
    formats = [
        (form, address("/papers/", name=one.id, ending=f".{form.suffix}", index=asked.index))
        for form in FILE_FORMATS.values()
    ]
    site = site_address(request)
    own = site + address("/papers/", name=one.id, index=asked.index)
    response = html(
        request,
        "paper.html",
        view=view_of(service, opened, one),
        paper=one,
        canonical=own,
        highwire=list(highwire(one, own)),
        json_ld=json_ld(one, own),
        identifiers=identifier_links(one),
        reference_link=partial(reference_link, one),
        parts=abstract_parts(one.abstract),
        references={name: [style(one)] for name, style in STYLES.items()},
        formats=formats,
        quoted=_quoted,
        link=link_of(one),
    )
    response.headers["Link"] = signposts(one, own, {form.plain_type: site + place for form, place in formats})
    return response


def _quoted(field: str, value: object) -> str:
    """Return the filter for one value of a field."""
    from search_plugin.filters.parse import quoted

    return f"{field}={quoted(str(value))}"


def _find(opened: OpenIndex, name: str) -> tuple[str, str, list[Paper]]:
    """Return the identifier in a path, the format that its ending names, and the papers.

    An id that has such an ending itself comes first: the page of the paper `a.json` is `/papers/a.json`.
    """
    form = next((form for form, one in FILE_FORMATS.items() if name.endswith(f".{one.suffix}")), "")
    if not name:
        raise HTTPException(404)
    if form and name not in opened.index.papers([name]):
        stem = name.removesuffix(f".{FILE_FORMATS[form].suffix}")
        with suppress(NotFoundError):
            return stem, form, opened.find(stem)
    return name, "", opened.find(name)


_KNOWN = (
    "abstract|aims?|aims? and objectives?|background|background and (?:aims?|objectives?|purpose)|conclusions?|"
    "conclusions? and relevance|context|data sources?|design|design, setting,? and participants|discussion|"
    "evidence acquisition|"
    "evidence synthesis|exposures?|findings|funding|hypothesis|implications|importance|interpretation|interventions?|"
    "introduction|limitations?|main outcomes?(?: and measures?| measures?)?|materials? and methods?|measurements?|"
    "methods?|methods? and (?:materials?|results?|findings)|methodology|motivation|objectives?|outcomes?|participants|"
    "patients(?: and methods?)?|principal findings|purpose|rationale|registration|results?|"
    "results? and (?:conclusions?|discussion)|setting|settings? and participants|significance|study design|"
    "study selection|subjects|summary|trial registration"
)
_LABEL = re.compile(
    rf"(?:(?<=[.?!)\]])\s+|^\s*|\n\s*)((?:{_KNOWN})|[A-Z][A-Z][A-Z ,/&()-]{{2,58}}[A-Z)])\s*:\s+", re.IGNORECASE
)
_SHOUTED = re.compile(r"[A-Z][A-Z ,/&()-]{3,60}")


class AbstractPart(NamedTuple):
    """A part of an abstract: its label, empty for what stands before the first one, and its text."""

    label: str
    text: str


def abstract_parts(abstract: str) -> Sequence[AbstractPart]:
    """Return an abstract in its parts; the whole as one without a label where it has fewer than two labels."""
    found = [one for one in _LABEL.finditer(abstract) if _is_label(one[1])]
    if len(found) < 2:
        return [AbstractPart("", abstract)] if abstract else []
    parts = [AbstractPart("", abstract[: found[0].start()].strip())]
    ends = [*(one.start() for one in found[1:]), len(abstract)]
    parts += [
        AbstractPart(_written(one[1]), abstract[one.end() : end].strip()) for one, end in zip(found, ends, strict=True)
    ]
    return [part for part in parts if part.text]


def _is_label(text: str) -> bool:
    """Return whether a text before a colon is a label: in capitals, or a known one that begins with a capital."""
    return bool(_SHOUTED.fullmatch(text)) or (text[0].isupper() and bool(re.fullmatch(_KNOWN, text, re.IGNORECASE)))


def _written(label: str) -> str:
    return label.capitalize() if label.isupper() else label
