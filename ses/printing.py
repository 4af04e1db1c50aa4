"""Prints a page of hits as text or JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import orjson
import rich_click as click
from rich.console import Console
from rich.text import Text

from corpora.paper import is_empty

if TYPE_CHECKING:
    from collections.abc import Sequence

    from corpora.custom import FieldValue
    from corpora.paper import Paper
    from search_plugin.highlights import Snippet
    from search_plugin.page import Facets, Hit, Page

_AUTHORS_SHOWN = 3
_LONGEST_VALUE = 200


def show_page(page: Page, *, as_json: bool, explain: bool) -> None:
    """Print a page on standard output.

    Args:
        page: The page.
        as_json: As one JSON document, always with the explanation.
        explain: With each leg's rank, raw score and contribution, and each stage's time and requests.
    """
    if as_json:
        click.echo(orjson.dumps(page.to_dict(), option=orjson.OPT_INDENT_2))
        return
    console = Console(highlight=False, soft_wrap=True)
    for note in page.notes:
        console.print(Text(note, style="yellow"))
    for hit in page.hits:
        _show_hit(console, hit, explain=explain)
    if not page.hits:
        console.print("Nothing found here: try other words, a wider --filter, or a smaller --offset.")
    if page.facets:
        _show_facets(console, page.facets)
    console.print(Text(_footer(page), style="dim"))
    if explain:
        for stage, spent in page.milliseconds.items():
            console.print(Text(f"{stage}: {spent:.1f} ms", style="cyan"))
            for request in page.requests.get(stage, ()):
                console.print(Text(f"  {request}", style="cyan"))


def _show_hit(console: Console, hit: Hit, *, explain: bool) -> None:
    paper = hit.paper
    title = next((marked(snippet) for snippet in hit.snippets if snippet.field == "title"), Text(paper.title))
    mark = Text("[retracted] ", style="bold red") if paper.retracted else Text()
    console.print(Text(f"{hit.rank:3}. ", style="bold"), mark, title, sep="")
    authors = "; ".join(paper.authors[:_AUTHORS_SHOWN]) + (" et al." if len(paper.authors) > _AUTHORS_SHOWN else "")
    facts = [str(paper.year) if paper.year else "", paper.venue, authors, paper.id]
    console.print(Text("     " + " · ".join(fact for fact in facts if fact), style="dim"))
    if hit.known_by:
        console.print(Text(f"     found by its {hit.known_by}", style="green"))
    if paper.extra:
        console.print(
            Text("     " + " · ".join(f"{name}: {_value(value)}" for name, value in paper.extra.items()), "dim")
        )
    for snippet in hit.snippets:
        if snippet.field == "abstract":
            console.print(Text("     "), marked(snippet), sep="")
    if hit.collapsed:
        console.print(Text(f"     and {hit.collapsed:,} more like it in that field", style="dim"))
    if explain:
        console.print(Text(f"     score {hit.score:.4f}", style="cyan"))
        for leg, part in hit.legs.items():
            told = f"     {leg}: rank {part.rank}, raw score {part.raw:.4f}, gives {part.value:.4f}"
            console.print(Text(told, style="cyan"))


def _value(value: FieldValue) -> str:
    if isinstance(value, tuple):
        return ", ".join(value)
    shown = "yes" if value is True else str(value)
    return shown if len(shown) <= _LONGEST_VALUE else f"{shown[: _LONGEST_VALUE - 1]}…"


def marked(snippet: Snippet) -> Text:
    """Return a snippet with its matches in bold."""
    text = Text(snippet.text)
    for start, end in snippet.spans:
        text.stylize("bold yellow", start, end)
    return text


def _show_facets(console: Console, facets: Facets) -> None:
    for field, counts in facets.counts.items():
        listed = ", ".join(f"{value} ({count:,})" for value, count in counts) or "no values"
        console.print(Text(f"{field}: ", style="bold") + Text(listed))
    console.print(Text(f"counted over {facets.matches:,} papers: {facets.counted}", style="dim"))


def _footer(page: Page) -> str:
    told = "joined by engine" if page.joined_by == "engine" else "looked up"
    legs = ", ".join(f"{count:,} by {leg}" for leg, count in page.found.items()) or told
    spent = sum(page.milliseconds.values())
    shown = f"{page.hits[0].rank} to {page.hits[-1].rank} of " if page.hits else ""
    return f"{shown}{page.candidates:,} candidates ({legs}) in index {page.index}, {spent:.0f} ms"


def show_papers(papers: Sequence[Paper], *, as_json: bool) -> None:
    """Print whole papers on standard output, every attribute that has a value.

    Args:
        papers: The papers.
        as_json: As one JSON list.
    """
    if as_json:
        click.echo(orjson.dumps([asdict(paper) for paper in papers], option=orjson.OPT_INDENT_2))
        return
    console = Console(highlight=False, soft_wrap=True)
    for place, paper in enumerate(papers):
        if place:
            console.print()
        held = {**{name: value for name, value in asdict(paper).items() if name != "extra"}, **paper.extra}
        for name, value in held.items():
            if not is_empty(value):
                told = "; ".join(value) if isinstance(value, tuple) else "yes" if value is True else str(value)
                console.print(Text(f"{name}: ", style="bold") + Text(told))
