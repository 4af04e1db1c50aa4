"""Pages and hits as HTML, which notebooks show; all that comes from a corpus or a user is escaped."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from search_plugin.highlights import Snippet

# Hits, pages and facets are of `search_plugin.page`, which imports this module, and so not named here.


def page_html(page: Any) -> str:
    """Return a page as HTML: what was searched, the hits, and the facets where there are some."""
    head = f"{len(page):,} of {page.candidates:,} candidates for “{escape(page.query)}” in {escape(page.index)}"
    facets = _facets(page.facets) if page.facets else ""
    notes = "".join(f"<p>{escape(note)}</p>" for note in page.notes)
    return f"<p>{head}</p>{notes}{hits_html(page.hits)}{facets}"


def hits_html(hits: Iterable[Any]) -> str:
    """Return hits as a table: rank, title with its link, year, venue and the text around the query's words, score."""
    rows = "".join(
        f"<tr><td>{hit.rank}</td><td style='text-align: left'>{_title(hit)}{_abstract(hit)}</td>"
        f"<td>{hit.paper.year or ''}</td><td>{escape(hit.paper.venue)}</td><td>{hit.score:.4f}</td></tr>"
        for hit in hits
    )
    names = "".join(f"<th>{name}</th>" for name in ("", "paper", "year", "venue", "score"))
    return f"<table><thead><tr>{names}</tr></thead><tbody>{rows}</tbody></table>"


def _title(hit: Any) -> str:
    shown = next((_marked(snippet) for snippet in hit.snippets if snippet.field == "title"), escape(hit.title))
    linked = f"<a href='{escape(hit.link)}'>{shown}</a>" if hit.link else shown
    return f"<b>[retracted]</b> {linked}" if hit.paper.retracted else linked


def _abstract(hit: Any) -> str:
    return "".join(f"<br><small>{_marked(snippet)}</small>" for snippet in hit.snippets if snippet.field == "abstract")


def _marked(snippet: Snippet) -> str:
    parts, done = [], 0
    for start, end in snippet.spans:
        parts += [escape(snippet.text[done:start]), f"<mark>{escape(snippet.text[start:end])}</mark>"]
        done = end
    return "".join([*parts, escape(snippet.text[done:])])


def _facets(facets: Any) -> str:
    items = "".join(
        f"<li>{escape(field)}: "
        + (", ".join(f"{escape(str(value))} ({count:,})" for value, count in counts) or "no values")
        + "</li>"
        for field, counts in facets.counts.items()
    )
    return f"<ul>{items}</ul><p><small>counted over {facets.matches:,} papers: {escape(facets.counted)}</small></p>"
