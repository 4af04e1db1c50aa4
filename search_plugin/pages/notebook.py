"""Pages, hits and indexes as HTML, which notebooks show; all that comes from a corpus or a user is escaped."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from corpora.notebook import linked, table
from corpora.outgoing import as_html

if TYPE_CHECKING:
    from search_plugin.pages.highlights import Snippet

# Hits, pages and facets are not named here: `search_plugin.pages.page` imports this module.


def page_html(page: Any) -> str:
    """Return a page as HTML: what was searched, the hits, and the facets where there are some."""
    head = f"{len(page):,} of {page.candidates:,} candidates for “{as_html(page.query)}” in {as_html(page.index)}"
    facets = _facets(page.facets) if page.facets else ""
    notes = "".join(f"<p>{as_html(note)}</p>" for note in page.notes)
    return f"<p>{head}</p>{notes}{hits_html(page.hits)}{facets}"


def index_html(index: Any) -> str:
    """Return an index as HTML: a table of what it holds."""
    schema = index.schema
    facts = {
        "papers": f"{index.count():,}",
        "version": index.generation,
        "model": schema.model,
        "vectors": tuple(vector.format for vector in schema.vectors),
        "language": schema.language,
        "own fields": tuple(f"{field.name} ({field.kind})" for field in schema.fields if field.origin != "paper"),
    }
    return f"<p><b>{as_html(index.name)}</b></p>{table(facts)}"


def hits_html(hits: Iterable[Any]) -> str:
    """Return hits as a table: rank, title with its link, year, venue and the text around the query's words, score."""
    rows = "".join(
        f"<tr><td>{hit.rank}</td><td style='text-align: left'>{_title(hit)}{_abstract(hit)}</td>"
        f"<td>{hit.paper.year or ''}</td><td>{as_html(hit.paper.venue)}</td><td>{hit.score:.4f}</td></tr>"
        for hit in hits
    )
    names = "".join(f"<th>{name}</th>" for name in ("", "paper", "year", "venue", "score"))
    return f"<table><thead><tr>{names}</tr></thead><tbody>{rows}</tbody></table>"


def _title(hit: Any) -> str:
    shown = next((_marked(snippet) for snippet in hit.snippets if snippet.field == "title"), as_html(hit.title))
    return f"{'<b>[retracted]</b> ' if hit.paper.retracted else ''}{linked(shown, hit.link)}"


def _abstract(hit: Any) -> str:
    return "".join(f"<br><small>{_marked(snippet)}</small>" for snippet in hit.snippets if snippet.field == "abstract")


def _marked(snippet: Snippet) -> str:
    parts, done = [], 0
    for start, end in snippet.spans:
        parts += [as_html(snippet.text[done:start]), f"<mark>{as_html(snippet.text[start:end])}</mark>"]
        done = end
    return "".join([*parts, as_html(snippet.text[done:])])


def _facets(facets: Any) -> str:
    items = "".join(
        f"<li>{as_html(field)}: "
        + (", ".join(f"{as_html(str(value))} ({count:,})" for value, count in counts) or "no values")
        + "</li>"
        for field, counts in facets.counts.items()
    )
    return f"<ul>{items}</ul><p><small>counted over {facets.matches:,} papers: {as_html(facets.counted)}</small></p>"
