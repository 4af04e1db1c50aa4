"""`ses indexes`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import rich_click as click

from corpora.errors import SesError, require
from ses.settings import load_settings
from ses.terminal.messages import message_of
from ses.terminal.options import engine_options, open_library
from ses.terminal.results import say, tell

if TYPE_CHECKING:
    from ses.indexes.index_facts import IndexFacts


@click.group()
def indexes() -> None:
    """List, show, choose, delete or copy indexes."""


@indexes.command(name="list")
@click.option("--all", "evaluations", is_flag=True, help="Also list the indexes of evaluations.")
@engine_options
def list_(*, evaluations: bool, as_json: bool, **options: Any) -> None:
    """List the indexes, and say which one a search uses where none is named."""
    library = open_library(options)
    rows: list[dict[str, Any]] = []
    lines = []
    for name in sorted(library.indexes(evaluations=evaluations)):
        try:
            facts = library.describe(name)
        except SesError as error:
            rows.append({"name": name, "problem": message_of(error)})
            lines.append(f"{name}: {message_of(error)}")
        else:
            rows.append(facts.to_dict())
            lines.append(_line(facts))
    say({"indexes": rows}, lines or ["No indexes yet; make one with `ses index --corpus NAME`."], as_json=as_json)


@indexes.command()
@click.argument("name", required=False)
@engine_options
def show(*, name: str | None, as_json: bool, **options: Any) -> None:
    """Show an index: its papers, model, fields, origins and size [default: the default index]."""
    library = open_library(options)
    facts = library.describe(name or library.default().name)
    say(facts.to_dict(), list(_lines(facts)), as_json=as_json)


@indexes.command()
@click.argument("name")
@engine_options
def use(*, name: str, as_json: bool, **options: Any) -> None:
    """Make an index the default of its engine: searches use it where --index names none.

    The choice is kept in the data folder. SES_INDEX and `index` in ses.toml take precedence over it.
    """
    open_library(options).use(name)
    stronger = load_settings().index
    lines = [f"Searches use {name} now, where --index names no other index."]
    if stronger not in ("", name):
        lines.append(f"But SES_INDEX or ses.toml names {stronger}, which takes precedence.")
    say({"index": name, "setting": stronger or None}, lines, as_json=as_json)


@indexes.command()
@click.argument("name")
@click.option("--yes", is_flag=True, help="Delete it without asking.")
@engine_options
def drop(*, name: str, yes: bool, as_json: bool, **options: Any) -> None:
    """Delete an index with all its versions and unfinished builds."""
    library = open_library(options)
    if not yes:
        require(sys.stdin.isatty(), f"The index {name} can't be brought back; say --yes to delete it.")
        if not click.confirm(f"Delete the index {name} with all its versions?", err=True):
            tell("Nothing was deleted.")
            return
    library.drop(name)
    say({"index": name}, [f"The index {name} is deleted."], as_json=as_json)


@indexes.command()
@click.argument("name")
@click.argument("to")
@engine_options
def copy(*, name: str, to: str, as_json: bool, **options: Any) -> None:
    """Copy an index within its engine under another name; nothing is encoded."""
    from ses.terminal.progress import progress_on_stderr

    library = open_library(options)
    with progress_on_stderr() as progress:
        copied = library.copy(name, to, progress)
    document = {"index": to, "copy_of": name, "papers": len(copied)}
    say(document, [f"The index {to} is a copy of {name}: {len(copied):,} papers."], as_json=as_json)


def _line(facts: IndexFacts) -> str:
    default = " (default)" if facts.default else ""
    attached = ", attached" if facts.attached else ""
    return f"{facts.name}{default}: {facts.papers:,} papers, {facts.schema.model}{_published(facts)}{attached}"


def _published(facts: IndexFacts) -> str:
    return f", published {facts.published.astimezone():%Y-%m-%d %H:%M}" if facts.published else ""


def _lines(facts: IndexFacts) -> Iterator[str]:
    from search_plugin.contract.diagnosis import human_bytes

    schema = facts.schema
    default = " (default)" if facts.default else ""
    yield f"Index {facts.name}{default}: version {facts.generation}{_published(facts)}"
    yield f"  {facts.papers:,} papers, {human_bytes(facts.disk_bytes)} on disk"
    if facts.attached:
        yield f"  attached: {facts.attached}"
    yield f"  model: {schema.model} ({schema.model_fingerprint})"
    for field in schema.vectors:
        of = f"of the {field.format} of {facts.vectors[field.format]:,} papers" if field.unit == "passage" else ""
        kept = "" if field.quantization == "none" else f", {field.quantization}"
        kept += f", projected from {schema.projection[0].numbers}" if schema.projection else ""
        held = of or f"{facts.vectors[field.format]:,} for {field.format}"
        yield f"  vectors: {held}, {field.dimension} numbers each{kept}"
    for made in (*schema.own, *schema.worded):
        held = f"{facts.vectors[made.format]:,} for {made.format}"
        by = f"by {made.model}" if made in schema.own else "with the papers' words"
        yield f"  vectors: {held}, {made.dimension} numbers each, {by} ({made.fingerprint})"
    for one in schema.sparse:
        kept = f"up to {one.most} tokens" + (f", from {one.ratio:g} of the heaviest" if one.ratio else "")
        yield f"  sparse vectors: {facts.vectors[one.format]:,} of {kept}, by {one.model} ({one.fingerprint})"
    for own in schema.foreign:
        exact = "" if own.graph else ", compared one by one"
        count = facts.vectors[own.format]
        yield f"  vectors: {count:,} in {own.format}, {own.dimension} numbers each by {own.model}{exact}"
    yield f"  words: {schema.language}, BM25 with {schema.bm25}; quantization: {schema.quantization}"
    listed = [f"{origin} ({count:,})" for origin, count in facts.origins.items()]
    yield f"  origins: {', '.join(listed) or 'none recorded'}"
    yield f"  fields: {', '.join(f'{field.name} ({field.kind})' for field in schema.fields)}"
