"""A feed as Atom (RFC 4287), for feed readers; ElementTree writes it, so that no text of a paper can become markup."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import quote
from xml.etree import ElementTree

from corpora.links import link_of
from products.feeds.html import entry_html

if TYPE_CHECKING:
    from products.feeds.ranking import FeedEntry

_NAMESPACE = "http://www.w3.org/2005/Atom"
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 has no way to write (section 2.2)."""


def render(name: str, title: str, entries: Sequence[FeedEntry], moment: datetime) -> str:
    """Return an Atom document, with the entries in the order given.

    The name is part of the feed's id. Atom requires a moment for each entry, and papers have only years, so each has
    the `moment`, which needs a time zone.
    """
    updated = moment.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    root = ElementTree.Element("feed", xmlns=_NAMESPACE)
    _add(root, "id", f"urn:ses:feed:{quote(name, safe='')}")
    _add(root, "title", title)
    _add(root, "updated", updated)
    _add(root, "generator", "ses")
    _add(_add(root, "author"), "name", "ses")
    for entry in entries:
        paper, item = entry.paper, _add(root, "entry")
        _add(item, "id", f"urn:ses:paper:{quote(paper.id, safe='')}")
        _add(item, "title", paper.title)
        _add(item, "updated", updated)
        for author in paper.authors:
            _add(_add(item, "author"), "name", author)
        if link := link_of(paper):
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
