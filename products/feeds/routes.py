"""`/v1/feeds`: the feeds of the library, for feed readers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Request, Response

from products.feeds.api import Feeds
from products.feeds.formats import feed_format
from ses.service.access import needs
from ses.service.answers import json_response
from ses.service.negotiation import etag_of, unless_kept
from ses.service.parameters import NoParameters, ServiceOf, asks, parameters_for, parameters_of
from ses.service.schemas import ATOM, listed

router = APIRouter(prefix="/v1/feeds", tags=["feeds"], dependencies=[Depends(needs("search"))])


FeedParameters = parameters_for(Feeds.show, base=NoParameters)


@dataclass(frozen=True, slots=True)
class FeedLine:
    """A feed.

    Attributes:
        name: Its name.
        title: What readers see.
        index: Name of the index that it ranks.
        atom: Address of the feed for feed readers.
    """

    name: str
    title: str
    index: str
    atom: str


@router.get("", summary="The feeds", responses=listed("feeds", FeedLine))
def feeds(request: Request, service: ServiceOf, _: Annotated[NoParameters, asks(NoParameters)]) -> Response:
    """List the feeds over the indexes of this library."""
    held = service.library.feeds
    found = {name: held[name] for name in held}
    shown = [
        FeedLine(name, feed.title or name, feed.index, str(request.url_for("atom", name=name)))
        for name, feed in found.items()
        if held.over(feed.engine)
    ]
    return unless_kept(request, etag_of(request, repr(shown)), lambda: json_response({"feeds": shown}))


@router.get(
    "/{name}.atom", summary="A feed for feed readers", responses=ATOM, openapi_extra=parameters_of(FeedParameters)
)
def atom(
    request: Request,
    service: ServiceOf,
    name: Annotated[str, Path(description="Name of the feed.", examples=["air"])],
    asked: Annotated[Any, asks(FeedParameters)],
) -> Response:
    """Rank the papers of a feed, as Atom (RFC 4287)."""
    feeds = service.library.feeds
    feed = feeds[name]
    revision = f"{service.revision(feed.index)} {feed!r}"

    address = str(request.url_for("atom", name=name).include_query_params(**request.query_params))

    def answer() -> Response:
        given = {"since": asked.since, "size": asked.size}
        entries = service.feed(feed, lambda: feeds.show(name, **given), **given)
        text = feed_format("atom")(name, feed.title or name, entries, service.feed_changed(name, feed), address)
        return Response(text, media_type="application/atom+xml; charset=utf-8")

    return unless_kept(request, etag_of(request, revision), answer)
