"""The formats of feeds: a new one is one function and one line here.

Atom (RFC 4287) is for feed readers; ElementTree writes it, so that no text of a paper can become markup. HTML can be
sent by e-mail: one page without tables, scripts, pictures or styles of its own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from html import escape
from types import MappingProxyType
from typing import Any, Protocol
from urllib.parse import quote
from xml.etree import ElementTree

from corpora.errors import InputError
from corpora.identifiers import link_of
from products.feeds.feed import FeedEntry

_AUTHORS = 5
_ABSTRACT = 600  # characters


def _html(
    name: str,  # noqa: ARG001 - Atom has it
    title: str,
    entries: Sequence[FeedEntry],
    when: datetime,
    address: str = "",  # noqa: ARG001 - Atom has it
) -> str:
    """Return an HTML document that can be sent by e-mail."""
    listed = "\n".join(f"<li>{entry_html(entry)}</li>" for entry in entries)
    body = f"<ol>\n{listed}\n</ol>" if entries else "<p>No new papers.</p>"
    shown = escape(title)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head><meta charset="utf-8">'
        f"<title>{shown}</title></head>\n<body>\n<h1>{shown}</h1>\n<p>{when:%Y-%m-%d}</p>\n{body}\n</body>\n</html>\n"
    )


def entry_html(entry: FeedEntry) -> str:
    """Return one paper with its title, authors, abstract and explanation, all escaped."""
    paper = entry.paper
    title = escape(paper.title)
    if link := link_of(paper):
        title = f'<a href="{escape(link)}">{title}</a>'
    authors = ", ".join(paper.authors[:_AUTHORS]) + (" et al." if len(paper.authors) > _AUTHORS else "")
    facts = escape(" · ".join(filter(None, (authors, paper.venue, str(paper.year or "")))))
    abstract = paper.abstract if len(paper.abstract) <= _ABSTRACT else f"{paper.abstract[:_ABSTRACT].rstrip()}…"
    parts = [f"<p><b>{title}</b></p>", f"<p>{facts}</p>" if facts else ""]
    parts.append(f"<p>{escape(abstract)}</p>" if abstract else "")
    if entry.near:
        near = "; ".join(f"{one.title} ({one.cosine:.2f})" for one in entry.near)
        parts.append(f"<p><i>Near what you liked: {escape(near)}</i></p>")
    elif entry.words:
        parts.append(f"<p><i>Holds: {escape(', '.join(entry.words))}</i></p>")
    return "".join(parts)


_NAMESPACE = "http://www.w3.org/2005/Atom"
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 has no way to write (section 2.2)."""


def _atom(name: str, title: str, entries: Sequence[FeedEntry], when: datetime, address: str = "") -> str:
    # A document names its own address (RFC 4287, section 4.1.1).
    links = {"self": address} if address else {}
    return atom_document(f"urn:ses:feed:{quote(name, safe='')}", title, entries, when, links=links)


def atom_document(
    id_: str,
    title: str,
    entries: Sequence[FeedEntry],
    when: datetime,
    *,
    links: Mapping[str, str] = MappingProxyType({}),
    pages: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """Return an Atom document, with the entries in the order given.

    Args:
        id_: The feed's id, an IRI that never changes.
        title: What readers see.
        entries: The papers.
        when: When the feed changed, with a time zone; Atom requires it for each entry too, and papers have only
            years.
        links: Addresses of the feed by relation, such as `self`.
        pages: Addresses of papers by their id; a paper without one is linked to where it can be read.

    Returns:
        The document, with its last line ended.
    """
    updated = when.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    root = ElementTree.Element("feed", xmlns=_NAMESPACE)
    _add(root, "id", id_)
    _add(root, "title", title)
    _add(root, "updated", updated)
    for rel, place in links.items():
        _add(root, "link", rel=rel, href=place, type="application/atom+xml" if rel == "self" else "text/html")
    _add(root, "generator", "ses")
    _add(_add(root, "author"), "name", "ses")
    for entry in entries:
        paper, item = entry.paper, _add(root, "entry")
        _add(item, "id", f"urn:ses:paper:{quote(paper.id, safe='')}")
        _add(item, "title", paper.title)
        _add(item, "updated", updated)
        for author in paper.authors:
            _add(_add(item, "author"), "name", author)
        if link := pages.get(paper.id) or link_of(paper):
            _add(item, "link", rel="alternate", href=link)
        if paper.abstract:
            _add(item, "summary", paper.abstract)
        _add(item, "content", entry_html(entry), type="html")
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _add(parent: Any, tag: str, text: str = "", **attributes: str) -> Any:
    element = ElementTree.SubElement(parent, tag, attributes)
    if text:
        element.text = _NOT_XML.sub(" ", text)
    return element


class FeedFormat(Protocol):
    """A function that writes a feed; `address` is where the document is, empty if that is not known."""

    def __call__(self, name: str, title: str, entries: Sequence[FeedEntry], when: datetime, address: str = "") -> str:
        """Return the feed as text."""


FORMATS: Mapping[str, FeedFormat] = {"atom": _atom, "html": _html}
"""Formats by name."""


def feed_format(name: str) -> FeedFormat:
    """Return the format of a name, or raise `InputError`."""
    if name not in FORMATS:
        raise InputError(f"There is no format {name!r} of feeds; choose one of {', '.join(FORMATS)}.")
    return FORMATS[name]
