"""`ses search`."""

from __future__ import annotations

from typing import Any

import rich_click as click

from ses.settings import Settings
from ses.terminal.options import described_options, engine_option, model_options, open_index
from ses.terminal.page_options import given_page_options, page_options

_TOKENS = 8
"""Tokens of sparse vectors that explain a hit."""


@click.command()
@click.argument("words", nargs=-1)
@described_options(Settings, "synonyms")
@click.option(
    "--all",
    "everything",
    is_flag=True,
    help="Print all papers that match by words, any number of them, in a --format for other programs.",
)
@click.option(
    "--translate", is_flag=True, help="Show the condition that a query is, such as one from PubMed; no search."
)
@page_options(search=True)
@model_options
@engine_option
def search(words: tuple[str, ...], index: str | None, *, everything: bool, translate: bool, **options: Any) -> None:
    """Search an index by words and by meaning at once.

    The words need no quotes; `-` reads them from standard input. Without words, the papers that match --filter are
    listed, the newest first. A query may hold "phrases", -exclusions, AND, OR, NOT, brackets and fields such as
    title:word, author:name and year:2019..2021; put these in quotes, and -- before a query that begins with -.
    Searches pasted from PubMed, Ovid, Scopus, Web of Science, Embase and Cochrane are read too.
    """
    from ses.terminal.printing import added_fields, show_all, show_page, show_translation

    query = _read_standard_input() if words == ("-",) else " ".join(words)
    opened, given = open_index(options, index), given_page_options(options)
    if translate:
        show_translation(opened.translate(query), as_json=options["as_json"])
        return
    if everything:
        show_all(opened, query, given, options)
        return
    page = opened.search(query, **given)
    # A service does not say which tokens of sparse vectors gave how much.
    explained = options["explain"] and query and hasattr(opened, "tokens")
    tokens = opened.tokens(query, page.hits, most=_TOKENS, **given) if explained else {}
    show_page(page, options, tokens, added_fields(opened))


def _read_standard_input() -> str:
    with open(0, encoding="utf-8", errors="replace", closefd=False) as stream:
        return stream.read()
