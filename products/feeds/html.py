"""A feed as HTML that can be sent by e-mail: one table-free page without scripts, styles of its own or pictures."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from html import escape
from typing import TYPE_CHECKING

from corpora.links import link_of

if TYPE_CHECKING:
    from products.feeds.ranking import FeedEntry

_AUTHORS = 5
_ABSTRACT = 600  # characters


def render(name: str, title: str, entries: Sequence[FeedEntry], moment: datetime) -> str:  # noqa: ARG001 - as Atom
    """Return an HTML document; arguments as of `products.feeds.atom.render`."""
    listed = "\n".join(f"<li>{entry_html(entry)}</li>" for entry in entries)
    body = f"<ol>\n{listed}\n</ol>" if entries else "<p>No new papers.</p>"
    shown = escape(title)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head><meta charset="utf-8">'
        f"<title>{shown}</title></head>\n<body>\n<h1>{shown}</h1>\n<p>{moment:%Y-%m-%d}</p>\n{body}\n</body>\n</html>\n"
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
    return "".join(parts)
