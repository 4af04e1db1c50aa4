"""What other programs read of a paper's page.

Highwire's `citation_*` tags, as Google Scholar's guidelines for inclusion list them and as Zotero reads them;
schema.org's `ScholarlyArticle` as JSON-LD; typed links of Signposting (signposting.org, FAIR profile; `cite-as` is
RFC 8574); and a citation as text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from typing import Any

import orjson
from markupsafe import Markup

from corpora.identifiers import identifier_of, link_of
from corpora.names import parse_name
from corpora.paper import Paper
from corpora.publication import Publication
from search_plugin.pages.formats import at_meeting, one_line

_ORCID = re.compile(r"(?:https?://orcid\.org/)?(\d{4}-\d{4}-\d{4}-\d{3}[\dX])")
_UNSAFE_IN_SCRIPT = {ord(char): f"\\u{ord(char):04x}" for char in "<>&\u2028\u2029"}


def highwire(paper: Paper, address: str) -> Iterator[tuple[str, str]]:
    """Yield the names and contents of a paper's `citation_*` tags; `address` is that of its page."""
    meeting, where = at_meeting(paper), paper.publication or Publication()
    first, last = where.page_range
    values = [
        ("title", paper.title),
        *(("author", str(parse_name(one_line(author)))) for author in paper.authors),
        ("publication_date", str(paper.year or "")),
        ("conference_title" if meeting else "journal_title", paper.venue),
        ("volume", where.volume),
        ("issue", where.issue),
        ("firstpage", first),
        ("lastpage", last),
        ("publisher", where.publisher),
        *(("issn", number) for number in where.issn),
        ("doi", identifier_of(paper, "doi")),
        ("pmid", identifier_of(paper, "pmid")),
        ("arxiv_id", identifier_of(paper, "arxiv")),
        ("language", paper.language),
        *(("keywords", word) for word in paper.fields),
        ("abstract", paper.abstract),
        ("abstract_html_url", address),
        ("pdf_url", _pdf_of(paper)),
    ]
    return ((f"citation_{name}", one_line(value)) for name, value in values if value)


def json_ld(paper: Paper, address: str) -> Markup:
    """Return a paper as JSON-LD, in the vocabulary of schema.org, that is safe inside of a `script` element."""
    link, where = link_of(paper), paper.publication or Publication()
    content = {
        "@context": "https://schema.org",
        "@type": "ScholarlyArticle",
        "@id": link or address,
        "url": address,
        "name": paper.title,
        "author": [_author(author) for author in paper.authors],
        "datePublished": str(paper.year or ""),
        "isPartOf": _periodical(paper),
        "pagination": where.pages,
        "publisher": {"@type": "Organization", "name": where.publisher} if where.publisher else "",
        "abstract": paper.abstract,
        "keywords": list(paper.fields),
        "inLanguage": paper.language,
        "identifier": [
            {"@type": "PropertyValue", "propertyID": kind, "value": value}
            for kind, _, value in (one.partition(":") for one in paper.identifiers)
        ],
        "sameAs": link,
        "creativeWorkStatus": "Retracted" if paper.retracted else "",
    }
    written = orjson.dumps({name: value for name, value in content.items() if value}).decode()
    return Markup(written.translate(_UNSAFE_IN_SCRIPT))  # noqa: S704 - no character of markup is left in it


def _periodical(paper: Paper) -> dict[str, Any]:
    """Return the journal with the volume and the issue that a paper is in."""
    where = paper.publication or Publication()
    if not paper.venue:
        return {}
    numbers = {"volumeNumber": where.volume, "issueNumber": where.issue, "issn": list(where.issn)}
    return {"@type": "Periodical", "name": paper.venue, **{name: value for name, value in numbers.items() if value}}


def _author(name: str) -> dict[str, str]:
    written = parse_name(one_line(name))
    # Without a given name it may be a group.
    return {"@type": "Person", "name": name} if written.given else {"name": name}


def signposts(paper: Paper, address: str, formats: Mapping[str, str]) -> str:
    """Return the value of the header `Link` of a paper's page: the links of RFC 8288, in ASCII.

    `formats` are the addresses of the paper in other formats, by media type.
    """
    doi = link_of(replace(paper, url="")) if identifier_of(paper, "doi") else ""
    links = [
        *([f'<{doi}>; rel="cite-as"'] if doi else []),
        *(f'<{place}>; rel="describedby"; type="{kind}"' for kind, place in formats.items()),
        *(f'<https://orcid.org/{orcid}>; rel="author"' for orcid in _orcids(paper)),
        '<https://schema.org/ScholarlyArticle>; rel="type"',
        '<https://schema.org/AboutPage>; rel="type"',
        f'<{address}>; rel="canonical"',
    ]
    return ", ".join(links)


def _orcids(paper: Paper) -> Iterator[str]:
    """Yield the ORCIDs of authors, which some corpora hold in a custom field."""
    value = paper.extra.get("orcid", ())
    for text in value if isinstance(value, tuple) else [str(value)]:
        if found := _ORCID.fullmatch(text.strip()):
            yield found[1]


def _pdf_of(paper: Paper) -> str:
    own = link_of(replace(paper, identifiers=()))
    return own if own.partition("?")[0].lower().endswith(".pdf") else ""


def citation(paper: Paper) -> str:
    """Return a citation of a paper as text in one line: authors, year, title, venue, `12(3):45-51`, link."""
    names = [str(parse_name(one_line(author))) for author in paper.authors]
    listed = "; ".join(names)
    year = f"({paper.year})" if paper.year else ""
    head = " ".join(filter(None, (listed, year)))
    where = one_line(paper.publication.place) if paper.publication else ""
    parts = [head, one_line(paper.title), ", ".join(filter(None, (one_line(paper.venue), where)))]
    ended = [part if part.endswith((".", "?", "!")) else f"{part}." for part in parts if part]
    return " ".join([*ended, link_of(paper), "[Retracted]" if paper.retracted else ""]).strip()


def identifier_links(paper: Paper) -> list[tuple[str, str, str]]:
    """Return kind, value and link of each identifier of a paper; the link is empty where none is known."""
    kinds = ((one.partition(":"), one) for one in paper.identifiers)
    return [(kind, value, link_of(replace(paper, identifiers=(one,), url=""))) for (kind, _, value), one in kinds]


def reference_link(paper: Paper, identifier: str) -> tuple[str, str, str]:
    """Return kind, value and link of an identifier of a reference of a paper; kind and link are empty if not known.

    One that names no kind is an id, and so of the kind of which the paper's own id is.
    """
    kind, named, value = identifier.partition(":")
    if not named:
        value = identifier
        kind = next((one for one, _, own in (held.partition(":") for held in paper.identifiers) if own == paper.id), "")
    return kind, value, link_of(replace(paper, identifiers=(f"{kind}:{value}",), url="")) if kind else ""


def json_value(paper: Paper) -> dict[str, Any]:
    """Return a paper as plain values with its link."""
    return {**asdict(paper), "link": link_of(paper)}
