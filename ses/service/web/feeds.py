"""The pages of feeds: `/feeds` lists them, `/feeds/new` builds one from a handful of papers, `/feeds/NAME` shows one.

A feed needs no account: `/feeds/like.atom` holds its papers in its address. To save one under a name needs the scope
write.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import parse_qs

from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.responses import RedirectResponse
from pydantic import Field, create_model

from corpora.errors import InputError, SesError, require
from corpora.identifiers import link_of
from ses.service.access import needs
from ses.service.answers import json_response
from ses.service.negotiation import etag_of, unless_kept
from ses.service.parameters import NoParameters, ServiceOf
from ses.service.problems import message_and_hint
from ses.service.web.address import PageOnly, address, same_origin, site_address
from ses.service.web.render import html

if TYPE_CHECKING:
    from corpora.paper import Paper
    from products.feeds.feed import Feed, FeedEntry
    from ses.service.service import Service

router = APIRouter(include_in_schema=False, dependencies=[Depends(needs("search"))])
writing = APIRouter(include_in_schema=False, dependencies=[Depends(needs("write")), Depends(same_origin)])

MOST_PICKED = 100
"""Papers of a feed that an address holds: more don't fit into it."""

RESERVED = ("new", "like")
"""Names that feeds can't have on the page, since they are addresses of their own."""

_FOUND = 10
_ATOM = "application/atom+xml; charset=utf-8"

DraftParameters = create_model(
    "DraftParameters",
    __base__=NoParameters,
    index=(str, Field("", description="The index; the default one if none is named.")),
    id=(list[str], Field([], description="Papers to find more of.")),
    **{"not": (list[str], Field([], description="Papers to find less of."))},  # type: ignore[call-overload]  # a keyword
    filter=(str, Field("", description="Condition for all papers of the feed.")),
    title=(str, Field("", max_length=200, description="Title of the feed.")),
    since=(str, Field("", description="Only papers from this year, month or day on.")),
    size=(int, Field(20, description="Papers of the feed, up to 500.")),
    query=(str, Field("", description="Search for papers to choose; no part of the feed.")),
    lang=(str, Field("", description="Language of the page.")),
)


@dataclass(frozen=True, slots=True)
class Draft:
    """A feed that is being built; its addresses hold all of it.

    Attributes:
        index: The index as given.
        liked: Ids of papers to find more of.
        disliked: Ids of papers to find less of.
        rest: What else its addresses hold: filter, title, since, size.
        query: The search for papers to choose.
        lang: The language that the reader chose.
    """

    index: str
    liked: tuple[str, ...]
    disliked: tuple[str, ...]
    rest: dict[str, Any]
    query: str = ""
    lang: str = ""

    def page(self, *, like: str = "", dislike: str = "", drop: str = "") -> str:
        """Return the address of its page, with one more paper or one fewer."""
        liked = [one for one in self.liked if one not in (dislike, drop)]
        disliked = [one for one in self.disliked if one not in (like, drop)]
        if like and like not in liked:
            liked.append(like)
        if dislike and dislike not in disliked:
            disliked.append(dislike)
        own = {"id": liked, "not": disliked, **self.rest, "index": self.index, "query": self.query, "lang": self.lang}
        return address("/feeds/new", **own)

    def at(self, ending: str) -> str:
        """Return the address of the feed itself, in a form such as `.atom`."""
        return address("/feeds/like", ending=ending, **self.fields())

    def fields(self) -> dict[str, Any]:
        """Return the parameters that are the feed."""
        return {"id": list(self.liked), "not": list(self.disliked), **self.rest, "index": self.index}


def _draft(asked: Any) -> Draft:
    liked, disliked = (tuple(dict.fromkeys(one)) for one in (asked.id, getattr(asked, "not")))
    picked = len(liked) + len(disliked)
    require(picked <= MOST_PICKED, f"{picked:,} papers were chosen for a feed", f"choose at most {MOST_PICKED}")
    given = asked.model_fields_set
    rest = {name: getattr(asked, name) for name in ("filter", "title", "since", "size") if name in given}
    return Draft(asked.index, liked, disliked, rest, asked.query, asked.lang)


def _entries(service: Service, draft: Draft, size: int) -> list[FeedEntry]:
    from products.feeds.feed import Feed

    condition, since = draft.rest.get("filter", ""), draft.rest.get("since", "")
    opened = service.opened(draft.index)

    def rank() -> list[FeedEntry]:
        found: list[FeedEntry] = service.library.feeds.preview(
            index=opened.name, liked=draft.liked, disliked=draft.disliked, filter=condition, since=since, size=size
        )
        return found

    return service.feed(Feed(opened.name, "", draft.liked, draft.disliked, "", condition), rank, since=since, size=size)


def _shown(service: Service, name: str) -> list[FeedEntry]:
    feed = service.library.feeds[name]
    return service.feed(feed, lambda: service.library.feeds.show(name))


def entry_value(entry: FeedEntry) -> dict[str, Any]:
    """Return an entry of a feed, ready for JSON."""
    paper = entry.paper
    shown = {"id": paper.id, "title": paper.title, "authors": paper.authors, "year": paper.year, "venue": paper.venue}
    near = [asdict(one) for one in entry.near]
    return {
        "rank": entry.rank,
        "score": entry.score,
        "link": link_of(paper),
        "paper": shown,
        "near": near,
        "words": entry.words,
    }


def _papers(service: Service, index: str, names: Sequence[str]) -> list[Paper]:
    """Return papers by any identifier; `NotFoundError` for one that the index does not hold."""
    opened = service.opened(index)
    return [opened.show(name) for name in names]


def may_write(request: Request) -> bool:
    """Return whether the one who asks may write."""
    return "write" in request.state.caller.scopes


@router.get("/feeds")
def feeds(request: Request, service: ServiceOf, _: Annotated[PageOnly, Query()]) -> Response:
    """List the feeds of the library."""
    return html(request, "feeds.html", feeds=_listed(service))


@router.get("/feeds.json")
def feeds_values(service: ServiceOf, _: Annotated[NoParameters, Query()]) -> Response:
    """Return the feeds of the library as values."""
    return json_response({"feeds": [{"name": name, **asdict(feed)} for name, feed in _listed(service).items()]})


def _listed(service: Service) -> dict[str, Feed]:
    held = service.library.feeds
    found = {name: held[name] for name in held}
    return {name: feed for name, feed in found.items() if held.over(feed.engine)}


@router.get("/feeds/new")
def new(request: Request, service: ServiceOf, asked: Annotated[DraftParameters, Query()]) -> Response:  # type: ignore[valid-type]
    """Show a feed that is being built: the papers chosen, a search for more, and what it would recommend."""
    draft = _draft(asked)
    problem = ""
    entries: list[FeedEntry] = []
    liked, disliked = (_papers(service, draft.index, side) for side in (draft.liked, draft.disliked))
    if draft.liked:
        try:
            entries = _entries(service, draft, _FOUND)
        except SesError as error:  # such as a filter that can't be read: the papers chosen stay
            problem, _ = message_and_hint(request, error)
    page = service.search(draft.index, draft.query, {"size": _FOUND}) if draft.query else None
    return html(
        request,
        "feed_new.html",
        draft=draft,
        liked=list(zip(draft.liked, liked, strict=True)),
        disliked=list(zip(draft.disliked, disliked, strict=True)),
        chosen={
            paper.id: name for name, paper in zip((*draft.liked, *draft.disliked), (*liked, *disliked), strict=True)
        },
        entries=entries,
        problem=problem,
        page=page,
        atom=site_address(request) + draft.at(".atom"),
        may_write=may_write(request),
        index_name=draft.index,
    )


@router.get("/feeds/like.atom")
def like_atom(request: Request, service: ServiceOf, asked: Annotated[DraftParameters, Query()]) -> Response:  # type: ignore[valid-type]
    """Return the feed that an address holds as Atom (RFC 4287)."""
    draft = _draft(asked)

    def answer() -> Response:
        from products.feeds.formats import feed_format

        entries = _entries(service, draft, draft.rest.get("size", 20))
        own = draft.at(".atom")
        name = f"like-{blake2b(own.encode(), digest_size=12).hexdigest()}"
        titles = [paper.title for paper in _papers(service, draft.index, draft.liked[:1])]
        title = draft.rest.get("title") or f"Like: {titles[0]}"
        text = feed_format("atom")(name, title, entries, service.changed(draft.index), site_address(request) + own)
        return Response(text, media_type=_ATOM)

    return unless_kept(request, etag_of(request, service.revision(draft.index)), answer)


@router.get("/feeds/like.json")
def like_values(service: ServiceOf, asked: Annotated[DraftParameters, Query()]) -> Response:  # type: ignore[valid-type]
    """Return the feed that an address holds as values."""
    draft = _draft(asked)
    entries = _entries(service, draft, draft.rest.get("size", 20))
    return json_response({**draft.fields(), "entries": [entry_value(one) for one in entries]})


@router.get("/feeds/{name}.json")
def feed_values(service: ServiceOf, name: str, _: Annotated[NoParameters, Query()]) -> Response:
    """Return a feed of the library and its papers as values."""
    feed, entries = service.library.feeds[name], _shown(service, name)
    return json_response({"name": name, **asdict(feed), "entries": [entry_value(one) for one in entries]})


@router.get("/feeds/{name}")
def feed_page(request: Request, service: ServiceOf, name: str, asked: Annotated[PageOnly, Query()]) -> Response:
    """Show a feed of the library: what it learns from, and what it recommends."""
    feed: Feed = service.library.feeds[name]
    draft = Draft(feed.index, feed.liked, feed.disliked, {"filter": feed.filter, "title": feed.title}, lang=asked.lang)
    held = service.opened(feed.index).index.papers(list(feed.seeds))
    return html(
        request,
        "feed.html",
        name=name,
        feed=feed,
        draft=draft,
        held=held,
        entries=_shown(service, name),
        may_write=may_write(request),
        index_name=feed.index,
    )


async def _form(request: Request) -> dict[str, list[str]]:
    """Return the values of a form that a browser sent."""
    given = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    require(given == "application/x-www-form-urlencoded", "This takes a form only; programs send JSON to /v1/feeds.")
    try:
        return parse_qs((await request.body()).decode(), max_num_fields=10 * MOST_PICKED)
    except ValueError:
        raise InputError("The form can't be read", "send it from the page") from None


Form = Annotated[dict[str, list[str]], Depends(_form)]


def _one(form: dict[str, list[str]], name: str) -> str:
    return form.get(name, [""])[0]


@writing.post("/feeds")
def save(request: Request, service: ServiceOf, form: Form) -> Response:
    """Save a feed under a name, and show it."""
    name = _one(form, "name").strip()
    require(name not in RESERVED, f"A feed can't be named {name!r} here", "choose another name")
    service.library.feeds.create(
        name,
        index=_one(form, "index"),
        liked=form.get("id", []),
        disliked=form.get("not", []),
        filter=_one(form, "filter"),
        title=_one(form, "title"),
    )
    return _see(request, f"/feeds/{name}")


@writing.post("/feeds/{name}/delete")
def delete(request: Request, service: ServiceOf, name: str) -> Response:
    """Delete a feed, and show those that are left."""
    service.library.feeds.delete(name)
    return _see(request, "/feeds")


def _see(request: Request, path: str) -> Response:
    return RedirectResponse(request.scope.get("root_path", "") + path, 303)
