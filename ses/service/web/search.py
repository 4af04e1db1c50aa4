"""The page of a search: `/`, the first page without parameters, and the hits with their facets.

Programs get the same hits from `/search.json`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from gettext import NullTranslations
from importlib.metadata import version
from itertools import pairwise
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import RedirectResponse
from pydantic import Field

from corpora.errors import SesError
from corpora.installed import DISTRIBUTION
from search_plugin.contract.schema import IndexSchema
from search_plugin.contract.tree import And, Filter, Or
from search_plugin.filters.parse import as_query
from search_plugin.pages.page import Page
from search_plugin.ranking.weakness import NOTHING_MATCHES
from search_plugin.request import MAX_WINDOW, SAME_WORK, typed_query
from search_plugin.understanding.parts import ConditionPart, parts_of, without_part
from search_plugin.understanding.pasted.read import READ_AS
from search_plugin.understanding.queries import read_query
from ses.service.access import needs
from ses.service.answers import json_response, page_answer
from ses.service.negotiation import JSON, quality
from ses.service.parameters import SearchParameters, ServiceOf, Shown, asks
from ses.service.problems import RETRY_SECONDS, STATUS, message_and_hint
from ses.service.service import Service
from ses.service.web.address import PageAddress
from ses.service.web.histogram import histogram
from ses.service.web.home import overview
from ses.service.web.narrowing import YEAR, Narrowing, chosen
from ses.service.web.render import PageReader, html, reader_of
from ses.service.web.value_names import value_text

router = APIRouter(include_in_schema=False, dependencies=[Depends(needs("search"))])

SIZES = (10, 20, 50, 100)
"""Hits on a page that a reader can choose."""

SHOWN, COUNTED = 6, 200
"""Values of a facet that are shown at once, and that are counted; years are the reason for so many."""

MOST_FACETS = 12

_NO_FACETS = ("id", "identifiers", "references", "origins", YEAR)
_YEARS = re.compile(r"year\s*(>=|<=)\s*(\d{4})")
_EQUAL = re.compile(r"([a-z]\w*)\s*==?\s*(?:(['\"])((?:\\.|(?!\2).)*)\2|([\w-]+))")
_AROUND = 2
"""Pages before and after one whose numbers are shown, beside the first and the last."""
_DRAWN = ("query", "filter", "narrow", "index", "lang")
"""Parameters of the map of a search."""


class PageParameters(SearchParameters):  # type: ignore[misc]  # made by pydantic from the options
    """The parameters of the page: those of a search, and what the page adds."""

    only: list[str] = Field(default=[], max_length=200, description="Chosen values of facets, as field:value.")
    year_from: int | None = Field(None, ge=-9999, le=9999, description="First year.")
    year_to: int | None = Field(None, ge=-9999, le=9999, description="Last year.")
    view: Literal["list", "compact"] = Field("list", description="How hits are shown.")
    lang: str = Field("", description="Language of the page.")
    without: int | None = Field(None, ge=0, description="Number of the part of the query that is taken away.")

    @property
    def narrowing(self) -> Narrowing:
        """What the reader has chosen of the facets."""
        return Narrowing(chosen(self.only), self.year_from, self.year_to)


@dataclass(frozen=True, slots=True)
class FacetValue:
    """A value of a facet: its count, and whether it is chosen."""

    value: str
    count: int | None
    chosen: bool


@dataclass(frozen=True, slots=True)
class Facet:
    """A facet as the page shows it: values, more of them, and the address of the API that searches within all."""

    name: str
    label: str
    values: Sequence[FacetValue]
    more: Sequence[FacetValue]
    within: PageAddress


@dataclass(frozen=True, slots=True)
class Paging:
    """Where a page is among all: its first and last hit, its number, how many there are, and the addresses of others.

    `reachable` is how many hits there are on all pages together. Of `numbers`, the address of this page is None, and a
    number of 0 stands for pages that are left out.
    """

    first: int
    last: int
    number: int
    count: int
    reachable: int
    previous: PageAddress | None
    next: PageAddress | None
    numbers: Sequence[tuple[int, PageAddress | None]]


@router.get("/")
def search(request: Request, service: ServiceOf, asked: Annotated[PageParameters, asks(PageParameters)]) -> Response:
    """Show the box, and the hits of a query with what can be done with them."""
    base = request.scope.get("root_path", "")
    accepted = request.headers.get("accept", "")
    if quality(accepted, JSON.media_type) > quality(accepted, "text/html"):
        return _for_programs(base)
    here = PageAddress(f"{base}/", tuple(request.query_params.multi_items()))
    shared = {"query": asked.query, "index_name": asked.index, "here": here, "asked": asked}
    try:
        opened = service.opened(asked.index)
        schema = opened.index.schema
        shared["indexes"] = service.library.indexes()
        if asked.without is not None:
            return RedirectResponse(str(_without(schema, asked, here)), 303)
        if not request.query_params.keys() - {"lang", "index"}:
            site = service.settings.site
            shared["overview"] = overview(service, asked.index, schema, site.examples)
            return html(request, "home.html", **shared, chosen_index=opened.name)
        return html(request, "search.html", **shared, **_results(service, schema, asked, here, reader_of(request)))
    except SesError as error:
        return _failed(request, service, error, shared)


def narrowed_options(service: Service, asked: Any) -> dict[str, Any]:
    """Return the options of a search with the values and years that a reader chose, for other forms of the page."""
    chosen_now = asked.narrowing.filters(service.opened(asked.index).index.schema)
    narrow = [*_typed(asked.narrow), *chosen_now]
    return {**asked.options(), "filter": _typed(asked.filter), "narrow": narrow}


def narrowed_page(service: Service, asked: Any) -> Page:
    """Return the hits of the page, with the values and years that a reader chose, for other forms of the page."""
    return service.search(asked.index, asked.query, narrowed_options(service, asked))


def _for_programs(base: str) -> Response:
    """Return where a program that accepts no page finds the API."""
    links = {"search": "/v1/search", "indexes": "/v1/indexes", "openapi": "/openapi.json"}
    addresses = {name: f"{base}{path}" for name, path in links.items()}
    content = {"name": "ses", "version": version(DISTRIBUTION), **addresses}
    return json_response(content, headers={"Vary": "Accept"})


def _results(
    service: Service, schema: IndexSchema, asked: Any, here: PageAddress, reader: PageReader
) -> dict[str, Any]:
    """Return what the page of hits shows."""
    texts = reader.texts
    narrowing, fields = asked.narrowing, facet_fields(schema)
    given = asked.options()
    if asked.query:
        given.setdefault("collapse", SAME_WORK)
    size = given.setdefault("size", 10)
    offset = given.get("offset", 0)
    typed, narrower = _typed(asked.filter), _typed(asked.narrow)

    def found(names: Sequence[str], but: str = "", **options: Any) -> Page:
        where = {"filter": typed, "narrow": [*narrower, *narrowing.filters(schema, but=but)]}
        counted = {"facets": list(names), "facet_size": COUNTED} if names else {}
        return service.search(asked.index, asked.query, {**given, **where, **counted, **options})

    narrowed = [name for name in narrowing.values if name in fields]
    years = narrowing.first is not None or narrowing.last is not None
    page = found([*(name for name in fields if name not in narrowed), *([] if years else [YEAR])])
    counts: dict[str, Sequence[tuple[Any, int]]] = dict(page.facets.counts) if page.facets else {}
    # The other values of a field that is filtered by can be chosen too, so they are counted without that filter.
    for name in [*narrowed, *([YEAR] if years else [])]:
        alone = found([name], name, size=0, offset=0, boost="", sort="", rerank="", collapse="")
        counts[name] = alone.facets.counts[name] if alone.facets else ()
    nothing = bool(page.hits) and page.matches == 0 and not page.near
    kinds = {change.kind for change in page.changes}
    where_read = _condition(schema, asked.query) if "operators" in kinds else None
    parts = parts_of(where_read) if isinstance(where_read, And | Or) else None
    base = here.path.removesuffix("/")
    where = [*(("filter", one) for one in typed), *(("narrow", one) for one in narrower)]
    chosen_now = (("narrow", one) for one in narrowing.filters(schema))
    api = _given(here, asked, [*where, *chosen_now], given.get("collapse", ""))
    asking = [pair for pair in api if pair[0] in ("query", "index", "mode", "window")]

    def facet_of(name: str) -> Facet:
        others = (("narrow", one) for one in narrowing.filters(schema, but=name))
        within = PageAddress(f"{base}/v1/facets/{name}", (*asking, *where, *others))
        return _facet(name, counts.get(name, ()), narrowing.values.get(name, ()), label_of(name, texts), within)

    return {
        "page": page,
        "nothing": nothing,
        "parts": parts,
        "notes": [note for note in page.notes if not _is_shown(note, nothing=nothing, parts=parts)],
        "facets": [] if nothing else [facet for name in fields if (facet := facet_of(name)).values],
        "histogram": None if nothing else histogram(counts.get(YEAR, ()), narrowing.first, narrowing.last),
        "narrowing": narrowing,
        "chips": _chips(narrowing, {"filter": typed, "narrow": narrower}, here, reader),
        "paging": _paging(page, size, offset, here),
        "tag_fields": tag_fields(schema),
        "sorts": _sorts(schema, asked.query, texts),
        "sizes": SIZES,
        "narrowed": here.other_than("query", "index", "literal", "verbatim", "cursor"),
        "narrow": lambda name, value: here.adding("only", f"{name}:{value}"),
        "given": api,
        "feed": PageAddress(f"{base}/search.atom", here.other_than("view", "lang")),
        "as_json": PageAddress(f"{base}/v1/search", api),
        "drawn": PageAddress(
            f"{base}/map", tuple(pair for pair in (*api, ("lang", asked.lang)) if pair[0] in _DRAWN and pair[1])
        ),
        "kinds": kinds,
        "undo": tuple(dict.fromkeys(change.undo for change in page.changes if change.kind != "expanded")),
        "expanded": [change for change in page.changes if change.kind == "expanded"],
    }


def _condition(schema: IndexSchema, query: str) -> Filter | None:
    """Return the condition that a query is; None for one that has words which only rank."""
    read = read_query(typed_query(query), schema.fields, schema.language)
    return read.filter if read.whole else None


def _without(schema: IndexSchema, asked: Any, here: PageAddress) -> PageAddress:
    """Return the address of the page without a part of the query."""
    where = _condition(schema, asked.query)
    left = without_part(where, asked.without) if where else None
    return here.lacking("without").having(query=as_query(left) if left else "" if where else asked.query)


def _is_shown(note: str, *, nothing: bool, parts: ConditionPart | None) -> bool:
    """Return whether the page says in another way what a note says."""
    return (nothing and note == NOTHING_MATCHES) or (parts is not None and note.startswith(READ_AS))


def _typed(given: Sequence[str] | None) -> list[str]:
    """Return conditions without those that were left empty in a form."""
    return [one for one in given or () if one.strip()]


def facet_fields(schema: IndexSchema) -> list[str]:
    """Return the fields whose values a page of hits counts, beside the years."""
    kinds = ("keyword", "keywords", "boolean")
    usual = ("types", "venue", "fields", "authors", "language", "retracted")
    able = [
        field.name for field in schema.fields if field.facet and field.kind in kinds and field.name not in _NO_FACETS
    ]
    return sorted(able, key=lambda name: usual.index(name) if name in usual else 2.5)[:MOST_FACETS]


def _facet(
    name: str, counts: Sequence[tuple[Any, int]], wanted: Sequence[str], label: str, within: PageAddress
) -> Facet:
    held = {value_text(value): count for value, count in counts}
    values = [FacetValue(value, held.get(value), chosen=True) for value in wanted]
    values += [FacetValue(value, count, chosen=False) for value, count in held.items() if value not in wanted]
    return Facet(name, label, values[:SHOWN], values[SHOWN : 4 * SHOWN], within)


def tag_fields(schema: IndexSchema) -> list[str]:
    """Return the fields of tags, which hits show."""
    return [field.name for field in schema.fields if field.origin == "tag"]


def label_of(name: str, texts: NullTranslations) -> str:
    """Return the name of a field for readers; that of a field which not every paper has is its own."""
    _ = texts.gettext
    known: Mapping[str, str] = {
        "types": _("Type"),
        "venue": _("Venue"),
        "fields": _("Subject"),
        "authors": _("Author"),
        "language": _("Language"),
        "retracted": _("Retracted"),
        YEAR: _("Year"),
        "title": _("Title"),
    }
    return known.get(name, name.replace("_", " ").capitalize())


def _chips(
    narrowing: Narrowing, typed: Mapping[str, Sequence[str]], here: PageAddress, reader: PageReader
) -> list[tuple[str, str, PageAddress]]:
    """Return what restricts the hits: the name of the field, the value, and the address without it."""
    texts = reader.texts
    chips = [
        (label_of(name, texts), reader.named(name, value), here.lacking("only", f"{name}:{value}"))
        for name, values in narrowing.values.items()
        for value in values
    ]
    if narrowing.first is not None or narrowing.last is not None:
        span = _span(narrowing.first, narrowing.last, texts)
        chips.append((label_of(YEAR, texts), span, here.lacking("year_from").lacking("year_to")))
    for name, conditions in typed.items():
        chips += [(*_label_and_value(one, reader), here.lacking(name, one)) for one in conditions]
    return chips


def _span(first: int | None, last: int | None, texts: NullTranslations) -> str:
    if first is None:
        return texts.gettext("until %(year)s") % {"year": last}
    if last is None:
        return texts.gettext("from %(year)s") % {"year": first}
    return str(first) if first == last else f"{first}\u2013{last}"


def _label_and_value(condition: str, reader: PageReader) -> tuple[str, str]:
    """Return a typed condition for readers: a field and its value where it is so simple, else as it is."""
    texts = reader.texts
    if years := _YEARS.fullmatch(condition.strip()):
        first, last = (int(years[2]), None) if years[1] == ">=" else (None, int(years[2]))
        return label_of(YEAR, texts), _span(first, last, texts)
    if one := _EQUAL.fullmatch(condition.strip()):
        value = re.sub(r"\\(.)", r"\1", one[3]) if one[2] else one[4]
        return label_of(one[1], texts), reader.named(one[1], value)
    return texts.gettext("Filter"), condition


def _paging(page: Page, size: int, offset: int, here: PageAddress) -> Paging:
    reachable = min(page.candidates, MAX_WINDOW)
    size = max(size, 1)
    before = here.having(offset=max(0, offset - size) or "") if offset else None
    after = here.having(offset=offset + size) if offset + size < reachable else None
    count = max(1, -(-reachable // size))
    number = offset // size + 1
    shown = sorted({1, count, *range(max(1, number - _AROUND), min(count, number + _AROUND) + 1)})
    numbers: list[tuple[int, PageAddress | None]] = []
    for before_it, one in pairwise([0, *shown]):
        if one > before_it + 1:
            numbers.append((0, None))
        numbers.append((one, None if one == number else here.having(offset=size * (one - 1) or "")))
    return Paging(offset + 1, offset + len(page), number, count, reachable, before, after, numbers)


def _sorts(schema: IndexSchema, query: str, texts: NullTranslations) -> list[tuple[str, str]]:
    _ = texts.gettext
    orders = [("", _("Best first") if query else _("Newest first"))]
    orders += [("-year", _("Newest first"))] if query else []
    orders += [(YEAR, _("Oldest first")), ("title", _("Title"))]
    own = [field.name for field in schema.added if field.kind in ("number", "date")]
    return [*orders, *((f"-{name}", label_of(name, texts)) for name in own)]


def _given(
    here: PageAddress, asked: Any, where: Sequence[tuple[str, str]], collapse: str
) -> tuple[tuple[str, str], ...]:
    """Return the parameters of the same page for the API, in which the chosen values are conditions."""
    own = ("only", "year_from", "year_to", "view", "lang", "filter", "narrow", "collapse")
    further = {"offset": str(asked.offset) if asked.offset else "", "collapse": collapse}
    named = ((name, value) for name, value in further.items() if value)
    return (*here.other_than(*own), *named, *where)


def _failed(request: Request, service: Service, error: SesError, shared: dict[str, Any]) -> Response:
    status = STATUS[error.kind]
    try:
        indexes = service.library.indexes()
    except SesError:  # the engine is away
        indexes = []
    message, _ = message_and_hint(request, error)
    known = "" if error.kind == "not found" else shared["index_name"]
    found = {**shared, "indexes": indexes, "query": shared["query"][:300], "index_name": known}
    reply = html(request, "failed.html", status=status, **found, code=status, message=message)
    if status == 503:
        reply.headers["Retry-After"] = str(RETRY_SECONDS)
    return reply


class TwinParameters(PageParameters, Shown):
    """The parameters of the page, and what to show of its hits; `view` and `lang` change nothing here."""


@router.get("/search.json")
def search_json(
    request: Request, service: ServiceOf, asked: Annotated[TwinParameters, asks(TwinParameters)]
) -> Response:
    """Answer as `/v1/search`, with the values and years that a reader chose on the page."""
    return page_answer(request, service, asked, lambda: narrowed_page(service, asked), file="search")
