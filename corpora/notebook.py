"""Papers as HTML, which notebooks show; all that comes from a corpus is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from corpora.links import link_of
from corpora.outgoing import as_html

# `corpora.paper` imports this module, and so a paper has no type here.

_SHOWN = ("authors", "year", "venue", "types", "language", "fields", "identifiers", "url", "origins")


def paper_html(paper: Any) -> str:
    """Return a paper as HTML: its title with a link, its abstract, and a table of all that is known of it."""
    mark = "<b>[retracted]</b> " if paper.retracted else ""
    known = {"id": paper.id, **{name: getattr(paper, name) for name in _SHOWN}, **paper.extra}
    if paper.references:
        known["references"] = f"{len(paper.references):,}"
    title = linked(as_html(paper.title), link_of(paper))
    return f"<p>{mark}<b>{title}</b></p><p>{as_html(paper.abstract)}</p>{table(known)}"


def linked(html: str, link: str) -> str:
    """Return HTML as a link, or as it is if there is no address."""
    return f"<a href='{as_html(link)}'>{html}</a>" if link else html


def titled(title: str, values: Mapping[str, object]) -> str:
    """Return a title in bold over a table of names and values; empty values are left out."""
    return f"<p><b>{as_html(title)}</b></p>{table(values)}"


def table(values: Mapping[str, object]) -> str:
    """Return a table of names and values; empty values are left out."""
    held = {name: value for name, value in values.items() if value is not None and value not in ("", ())}
    rows = "".join(f"<tr><th>{as_html(name)}</th><td>{as_html(_told(value))}</td></tr>" for name, value in held.items())
    return f"<table>{rows}</table>"


def _told(value: Any) -> str:
    listed = isinstance(value, Iterable) and not isinstance(value, str)
    return "; ".join(map(str, value)) if listed else str(value)
