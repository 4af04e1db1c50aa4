"""The pages of an author and of a venue: papers, years, and who or what goes with them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request, Response

from corpora.errors import NotFoundError
from search_plugin.filters.parse import quoted
from ses.service.access import needs
from ses.service.parameters import ServiceOf
from ses.service.service import Service
from ses.service.web.address import PageAddress, PageOfIndex, PaperName
from ses.service.web.histogram import histogram
from ses.service.web.narrowing import YEAR
from ses.service.web.render import html, texts_of
from ses.service.web.search import label_of

router = APIRouter(include_in_schema=False, dependencies=[Depends(needs("search"))])

_SHOWN, _COUNTED = 20, 200
_BESIDE = 12


@dataclass(frozen=True, slots=True)
class Beside:
    """Values that the papers of an author or a venue share, the most frequent first, each with its number of papers."""

    name: str
    label: str
    values: tuple[tuple[str, int], ...]


@router.get("/authors/{name:path}")
def author(request: Request, service: ServiceOf, name: PaperName, asked: Annotated[PageOfIndex, Query()]) -> Response:
    """Show the papers of an author, the newest first, with years, co-authors, venues and subjects."""
    return _profile(request, service, asked, "authors", name, ("authors", "venue", "fields"))


@router.get("/venues/{name:path}")
def venue(request: Request, service: ServiceOf, name: PaperName, asked: Annotated[PageOfIndex, Query()]) -> Response:
    """Show the papers of a venue, the newest first, with years, subjects and authors."""
    return _profile(request, service, asked, "venue", name, ("fields", "authors"))


def _profile(
    request: Request, service: Service, asked: Any, field: str, name: str, others: tuple[str, ...]
) -> Response:
    where = f"{field} == {quoted(name)}"
    options = {"filter": [where], "size": _SHOWN, "facets": [YEAR, *others], "facet_size": _COUNTED}
    page = service.search(asked.index, "", options)
    if not page.candidates or page.facets is None:
        raise NotFoundError(f"No paper here has {name[:200]!r} as its {field.rstrip('s')}", "search for a part of it")
    texts, counts = texts_of(request), page.facets.counts
    labels = {"authors": texts.gettext("Co-authors") if field == "authors" else texts.gettext("Authors")}
    beside = [
        Beside(
            one,
            labels.get(one) or label_of(one, texts),
            tuple((str(value), count) for value, count in counts[one] if (one, value) != (field, name))[:_BESIDE],
        )
        for one in others
    ]
    base = request.scope.get("root_path", "")
    return html(
        request,
        "profile.html",
        page=page,
        name=name,
        field=field,
        beside=[one for one in beside if one.values],
        histogram=histogram(counts[YEAR], None, None),
        every=PageAddress(f"{base}/", (("query", ""), ("only", f"{field}:{name}"))),
    )
