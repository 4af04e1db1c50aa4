"""`ses feed`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rich_click as click

from products.feeds.api import Feeds
from ses.terminal.options import PATH, described_options, engine_options, open_library, together
from ses.terminal.results import say

if TYPE_CHECKING:
    from products.feeds.feed import Feed, FeedEntry

_liked = click.option("--like", "liked", multiple=True, metavar="ID", help="Paper to find more of; repeatable.")
_disliked = click.option(
    "--dislike", "disliked", multiple=True, metavar="ID", help="Paper to find less of; repeatable."
)
_field = click.option(
    "--date-field", default="year", show_default=True, metavar="FIELD", help="The field that --since compares."
)
_shown = together(described_options(Feeds.show), _field)


@click.group()
def feed() -> None:
    """Recommend new papers by what a reader likes, or by a saved query.

    A feed ranks the papers of an index by a model of the vectors and words of liked and disliked papers. Nothing is
    encoded.
    """


@feed.command()
@click.argument("name")
@click.option("--index", default="", metavar="NAME", help="The index to rank [default: the default index].")
@_liked
@_disliked
@click.option("--query", default="", metavar="QUERY", help="A saved query, instead of papers.")
@click.option("--filter", default="", metavar="EXPR", help="What all papers of the feed match, such as 'type=Review'.")
@click.option("--title", default="", metavar="TEXT", help="What readers see [default: the name].")
@engine_options
def create(*, name: str, as_json: bool, **options: Any) -> None:
    """Create a feed of liked and disliked papers, or of a saved query."""
    given = {key: options.pop(key) for key in ("index", "liked", "disliked", "query", "filter", "title")}
    made = open_library(options).feeds.create(name, **given)
    _say(name, made, f"The feed {name} is created: {_contents(made)}.", as_json=as_json)


@feed.command()
@click.argument("name")
@_liked
@_disliked
@engine_options
def add(*, name: str, liked: Sequence[str], disliked: Sequence[str], as_json: bool, **options: Any) -> None:
    """Add liked and disliked papers to a feed."""
    changed = open_library(options).feeds.add(name, liked=liked, disliked=disliked)
    _say(name, changed, f"The feed {name} has {_contents(changed)}.", as_json=as_json)


@feed.command()
@click.argument("name")
@click.argument("papers", nargs=-1, metavar="[ID]...")
@click.option("--all", "whole", is_flag=True, help="Delete the whole feed.")
@engine_options
def remove(*, name: str, papers: Sequence[str], whole: bool, as_json: bool, **options: Any) -> None:
    """Take papers out of a feed, or delete the whole feed with --all."""
    if whole == bool(papers):
        raise click.UsageError("Give the ids of papers to take out, or --all to delete the feed.")
    feeds = open_library(options).feeds
    if whole:
        feeds.delete(name)
        say({"name": name, "deleted": True}, f"The feed {name} is deleted.", as_json=as_json)
        return
    changed = feeds.remove(name, papers)
    _say(name, changed, f"The feed {name} has {_contents(changed)}.", as_json=as_json)


@feed.command()
@click.argument("name")
@_shown
@engine_options
def show(*, name: str, since: str, date_field: str, size: int, as_json: bool, **options: Any) -> None:
    """Show the papers of a feed, the best first, with the liked papers that each is near to."""
    entries = open_library(options).feeds.show(name, since=since, date_field=date_field, size=size)
    lines = [line for entry in entries for line in _lines(entry)] or ["No papers: try an earlier --since."]
    say({"name": name, "entries": [asdict(entry) for entry in entries]}, "\n".join(lines), as_json=as_json)


@feed.command()
@click.argument("name")
@click.option("--format", default="atom", show_default=True, metavar="NAME", help="atom, or html for e-mail.")
@click.option("--output", type=PATH, metavar="FILE", help="Write here [default: print it].")
@_shown
@engine_options
def export(*, name: str, output: Path | None, as_json: bool, **options: Any) -> None:
    """Export a feed as Atom, or as HTML for e-mail."""
    from corpora.writing import explaining, replacing

    given = {key: options.pop(key) for key in ("format", "since", "date_field", "size")}
    text = open_library(options).feeds.export(name, **given)
    if output is None:
        say({"name": name, "text": text}, text.rstrip("\n"), as_json=as_json)
        return
    with explaining(output), replacing(output) as part:
        part.write_text(text, encoding="utf-8")
    say({"name": name, "file": str(output)}, f"The feed {name} is in {output}.", as_json=as_json)


@feed.command(name="list")
@engine_options
def list_(*, as_json: bool, **options: Any) -> None:
    """List the feeds, with their papers or queries."""
    feeds = open_library(options).feeds
    held = {name: feeds.get(name) for name in feeds.names()}
    lines = [f"{name}: {_contents(one)}, index {one.index}" for name, one in held.items()]
    document = {"feeds": [{"name": name, **asdict(one)} for name, one in held.items()]}
    say(document, "\n".join(lines) or "No feeds yet; make one with `ses feed create NAME --like ID`.", as_json=as_json)


def _contents(feed: Feed) -> str:
    if feed.query:
        return f"the query {feed.query!r}"
    return f"{len(feed.liked):,} liked and {len(feed.disliked):,} disliked papers"


def _lines(entry: FeedEntry) -> list[str]:
    facts = " · ".join(filter(None, (str(entry.paper.year or ""), entry.paper.venue, entry.paper.id)))
    lines = [f"{entry.rank:3}. {entry.paper.title}", f"     {facts}"]
    return [*lines, *(f"     {line}" for line in entry.why)]


def _say(name: str, feed: Feed, line: str, *, as_json: bool) -> None:
    say({"name": name, **asdict(feed)}, line, as_json=as_json)
