"""`ses similar`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rich_click as click

from corpora.errors import InputError, require
from search_plugin.request import DEFAULTS
from ses.terminal.options import PATH, engine_option, open_index
from ses.terminal.page_options import given_page_options, page_options
from ses.terminal.printing import added_fields, show_page
from ses.terminal.results import say

if TYPE_CHECKING:
    from products.suggestions import Suggestion

_LONGEST = 1 << 20
"""Characters of a manuscript that are read; a model reads far fewer."""


@click.command()
@click.argument("paper_id", required=False, default="")
@click.option(
    "--text", default="", metavar="TEXT", help="A manuscript instead: its title, then its abstract on new lines."
)
@click.option("--file", type=PATH, metavar="FILE", help="A manuscript in a text file.")
@click.option(
    "--suggest",
    type=click.Choice(("venues", "references", "reviewers", "labels")),
    help="From the 100 nearest papers, suggest venues or labels with their probability, references, or reviewers.",
)
@click.option(
    "--from",
    "field",
    default="",
    metavar="FIELD",
    help="Field of the labels that are suggested, such as subject headings.",
)
@page_options(search=False)
@engine_option
def similar(
    paper_id: str, text: str, file: Path | None, suggest: Any, field: str, index: str | None, **options: Any
) -> None:
    """Find papers like one in the index, by its vector (or by its title's words too, with --mode hybrid).

    With --text or --file, find papers like a manuscript: its first line is the title, the rest the abstract.
    """
    if sum(map(bool, (paper_id, text, file))) != 1:
        raise InputError("Name one paper by its id, or give a manuscript with --text or --file.")
    text = _read(file) if file else text
    opened, given = open_index(options, index), given_page_options(options)
    if suggest:
        size = given.get("size", DEFAULTS["size"])
        found = opened.suggest(suggest, text=text, paper_id=paper_id, field=field, size=size)
        _show(found, as_json=options["as_json"])
        return
    require(not field, "Labels are suggested with --suggest labels --from FIELD.")
    page = opened.similar_text(text, **given) if text else opened.similar(paper_id, **given)
    show_page(page, options, fields=added_fields(opened))


def _read(path: Path) -> str:
    from corpora.opening import as_text, open_binary

    with open_binary(path) as stream:
        return as_text(stream).read(_LONGEST)


def _show(found: Sequence[Suggestion], *, as_json: bool) -> None:
    titles = [f"  {one.title}" if one.title else "" for one in found]
    lines = [
        f"{one.score:6.3f}  {one.name}{title}  (from {', '.join(one.because)})"
        for one, title in zip(found, titles, strict=True)
    ]
    document = {"suggestions": [asdict(one) for one in found]}
    say(document, lines or "The papers most like it say nothing about that.", as_json=as_json)
