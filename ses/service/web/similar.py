"""Papers like one of the index, `/similar/ID`, or like a manuscript, `/similar`."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import parse_qsl

from fastapi import APIRouter, Depends, Query, Request, Response
from pydantic import Field
from starlette.responses import RedirectResponse

from search_plugin.request import SAME_WORK
from ses.service.access import needs
from ses.service.answers import json_response, page_content
from ses.service.parameters import ServiceOf, SimilarParameters, parameters_from
from ses.service.web.address import PageOnly, PaperName, address
from ses.service.web.render import html, texts_of
from ses.service.web.search import label_of, tag_fields

if TYPE_CHECKING:
    from corpora.paper import Paper
    from products.suggestions import Suggestion
    from search_plugin.pages.page import Page
    from ses.indexes.open_index import OpenIndex
    from ses.service.service import Service

router = APIRouter(include_in_schema=False, dependencies=[Depends(needs("search"))])

LONGEST_TEXT = 20_000
"""Characters of a manuscript: a title and a long abstract are a tenth of it."""

_SUGGESTED = 5
_LABEL_FIELDS = 4
"""Fields of labels at most: each takes a search."""


class NearParameters(SimilarParameters, PageOnly):  # type: ignore[misc]  # made by create_model
    """The parameters of the page of papers like one of the index."""


class ManuscriptParameters(NearParameters):
    """The parameters of the page of papers like a manuscript."""

    text: str = Field("", max_length=LONGEST_TEXT, description="Title, and abstract in the lines after it.")


@dataclass(frozen=True, slots=True)
class ManuscriptView:
    """What is shown for a manuscript: papers like it, and the venues, people and labels by field that these suggest.

    A label needs two papers, so that values of single papers, such as identifiers, are not shown as labels.
    """

    page: Page
    venues: list[Suggestion]
    reviewers: list[Suggestion]
    labels: dict[str, list[Suggestion]]

    def to_dict(self) -> dict[str, Any]:
        """Return the view as plain values, ready for JSON."""
        return {
            **page_content(self.page),
            "venues": [asdict(one) for one in self.venues],
            "reviewers": [asdict(one) for one in self.reviewers],
            "labels": {field: [asdict(one) for one in found] for field, found in self.labels.items()},
        }


def view_of(service: Service, text: str, index: str, options: dict[str, Any]) -> ManuscriptView:
    """Find papers like a manuscript, and what they suggest."""
    opened = service.opened(index)
    page = service.similar_text(index, text, options)
    venues, reviewers = (opened.suggest(what, text=text, size=_SUGGESTED) for what in ("venues", "reviewers"))
    labels = {}
    for field in _label_fields(opened):
        found = opened.suggest("labels", text=text, field=field, size=_SUGGESTED)
        if shared := [one for one in found if len(one.because) > 1]:
            labels[field] = shared
    return ManuscriptView(page, venues, reviewers, labels)


async def typed(request: Request) -> Any:
    """Return the parameters of a form.

    A manuscript is sent as a form, not in the address: addresses are kept in histories and logs.
    """
    body = (await request.body()).decode("utf-8", "replace")
    given = parse_qsl(body, keep_blank_values=True, max_num_fields=100)
    return parameters_from(ManuscriptParameters, given, "body")


@router.get("/similar")
def empty(request: Request, service: ServiceOf, asked: Annotated[ManuscriptParameters, Query()]) -> Response:
    """Show the form for a manuscript."""
    return _manuscript(request, service, asked, None)


@router.post("/similar")
def manuscript(request: Request, service: ServiceOf, asked: Annotated[Any, Depends(typed)]) -> Response:
    """Show papers like a manuscript."""
    options = {"collapse": SAME_WORK, **_options(asked)}
    return _manuscript(request, service, asked, view_of(service, asked.text, asked.index, options))


@router.post("/similar.json")
def manuscript_json(service: ServiceOf, asked: Annotated[Any, Depends(typed)]) -> Response:
    """Return papers like a manuscript as JSON."""
    view = view_of(service, asked.text, asked.index, _options(asked))
    return json_response(view.to_dict())


def _manuscript(request: Request, service: Service, asked: Any, view: ManuscriptView | None) -> Response:
    return _shown(request, service, asked, page=view.page if view else None, view=view)


@router.get("/similar/{name:path}")
def similar(
    request: Request, service: ServiceOf, name: PaperName, asked: Annotated[NearParameters, Query()]
) -> Response:
    """Show papers like one of the index; with the ending `.json`, as JSON."""
    return _similar(request, service, name, asked)


def _similar(request: Request, service: Service, name: str, asked: Any) -> Response:
    opened = service.opened(asked.index)
    json = name.endswith(".json") and name not in opened.index.papers([name])
    paper: Paper = opened.show(name.removesuffix(".json") if json else name)
    options = _options(asked)
    if json:
        return json_response(page_content(service.similar(asked.index, paper.id, options)))
    given = {"index": asked.index, "lang": asked.lang, **options}
    options = {"collapse": SAME_WORK, **options}
    if paper.id != name:
        base = request.scope.get("root_path", "")
        return RedirectResponse(base + address("/similar/", name=paper.id, **given), 302)
    page = service.similar(asked.index, paper.id, options)
    after = page.hits[-1].rank if page.hits else 0
    more = after < min(page.candidates, page.window)  # papers near in meaning end with the window
    following = address("/similar/", name=paper.id, **{**given, "offset": after}) if more else ""
    return _shown(request, service, asked, page=page, paper=paper, following=following)


def _shown(
    request: Request,
    service: Service,
    asked: Any,
    *,
    page: Page | None,
    view: ManuscriptView | None = None,
    paper: Paper | None = None,
    following: str = "",
) -> Response:
    """Show the page of hits like a manuscript or a paper; `following` is the address of the next page."""
    return html(
        request,
        "similar.html",
        paper=paper,
        view=view,
        page=page,
        asked=asked,
        filters=_filters(asked),
        index_name=asked.index,
        tag_fields=tag_fields(service.opened(asked.index).index.schema),
        label_of=partial(label_of, texts=texts_of(request)),
        export=_export(page, asked.index),
        following=following,
        longest=LONGEST_TEXT,
    )


def _options(asked: Any) -> dict[str, Any]:
    """Return the options that a reader gave; a form also sends the fields that were left empty."""
    given = {name: [one for one in v if one] if isinstance(v, list) else v for name, v in asked.options().items()}
    return {name: value for name, value in given.items() if value not in ("", [])}


def _export(page: Page | None, index: str) -> list[tuple[str, str]]:
    """Return the parameters with which a page is exported: the papers on it."""
    named = [("index", index)] if index else []
    return [*named, *(("listed", hit.id) for hit in page)] if page else []


def _filters(asked: Any) -> list[str]:
    """Return the filters that a reader gave, and an empty one to type another."""
    return [*filter(None, asked.filter or ()), ""]


def _label_fields(opened: OpenIndex) -> list[str]:
    """Return the fields whose values are suggested: subjects, and fields of several labels that the corpus gave."""
    own = [one.name for one in opened.index.schema.fields if one.origin == "custom" and one.kind == "keywords"]
    return ["fields", *own][:_LABEL_FIELDS]
