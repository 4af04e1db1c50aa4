"""A search for browsers and feed readers: OpenSearch Description, suggestions in its form, and results as Atom.

OpenSearch 1.1 Draft 6, with its extension Suggestions; Atom is RFC 4287.
"""

from __future__ import annotations

from typing import Annotated, Any
from urllib.parse import urlencode
from xml.etree import ElementTree

from fastapi import APIRouter, Depends, Query, Request, Response

from search_plugin.pages.page import Page
from ses.service.access import needs
from ses.service.answers import json_response
from ses.service.negotiation import etag_of, unless_kept
from ses.service.parameters import Parameters, ServiceOf, asks
from ses.service.routes.search import SuggestParameters
from ses.service.web.address import address, site_address
from ses.service.web.search import PageParameters, narrowed_page

router = APIRouter(include_in_schema=False, dependencies=[Depends(needs("search"))])

DESCRIPTION = "application/opensearchdescription+xml"
_OPENSEARCH = "http://a9.com/-/spec/opensearch/1.1/"
_LONGEST_NAME = 16
"""Characters of `ShortName`, as OpenSearch allows them."""


@router.get("/opensearch.xml")
def description(request: Request, asked: Annotated[Parameters, Query()]) -> Response:
    """Describe the search, so that a browser adds it to its search engines."""
    site, name = site_address(request), request.app.state.service.settings.site.name
    index = f"&{urlencode({'index': asked.index})}" if asked.index else ""
    root = ElementTree.Element("OpenSearchDescription", xmlns=_OPENSEARCH)
    for tag, text in (
        ("ShortName", name[:_LONGEST_NAME]),
        ("LongName", name[:48]),
        ("Description", f"Search papers in {name}"[:1024]),
        ("InputEncoding", "UTF-8"),
    ):
        ElementTree.SubElement(root, tag).text = text
    for kind, rel, path in (
        ("text/html", "results", "/?query={searchTerms}"),
        ("application/atom+xml", "results", "/search.atom?query={searchTerms}"),
        ("application/x-suggestions+json", "suggestions", "/suggest.json?query={searchTerms}"),
        (DESCRIPTION, "self", "/opensearch.xml?"),
    ):
        place = f"{site}{path}{index}".removesuffix("?").replace("?&", "?")
        ElementTree.SubElement(root, "Url", type=kind, rel=rel, template=place)
    text = ElementTree.tostring(root, encoding="unicode", xml_declaration=True)
    return Response(text, media_type=f"{DESCRIPTION}; charset=utf-8")


@router.get("/search.atom")
def atom(request: Request, service: ServiceOf, asked: Annotated[PageParameters, asks(PageParameters)]) -> Response:
    """Return a page of hits as Atom, with the parameters of the page `/`: a saved search is its address."""

    def answer() -> Response:
        given = f"?{request.url.query}" if request.url.query else ""
        text = _atom(request, narrowed_page(service, asked), asked.index, given)
        return Response(text, media_type="application/atom+xml; charset=utf-8")

    return unless_kept(request, etag_of(request, service.revision(asked.index)), answer)


def _atom(request: Request, page: Page, index: str, query: str) -> str:
    from products.feeds.feed import FeedEntry
    from products.feeds.formats import atom_document

    service, site = request.app.state.service, site_address(request)
    opened = service.opened(index)
    entries = [FeedEntry(hit.rank, hit.paper, hit.score) for hit in page]
    title = page.query or opened.name
    return atom_document(
        f"{site}/search.atom{query}",
        f"{title} - {service.settings.site.name}",
        entries,
        service.changed(index),
        links={"self": f"{site}/search.atom{query}", "alternate": f"{site}/{query}"},
        pages={hit.id: site + address("/papers/", name=hit.id, index=index) for hit in page},
    )


@router.get("/suggest.json")
def suggestions(service: ServiceOf, asked: Annotated[Any, asks(SuggestParameters)]) -> Response:
    """Return titles of papers for what was typed so far, in the form of OpenSearch."""
    found = service.ask(asked.index, lambda opened: opened.complete(asked.query, size=asked.size))
    return json_response([asked.query, list(dict.fromkeys(one.text for one in found.titles))])
