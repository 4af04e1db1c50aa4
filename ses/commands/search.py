"""`ses search`."""

from __future__ import annotations

from typing import Any

import rich_click as click

from ses.options import engine_options, model_options, page_options


@click.command()
@click.argument("query")
@click.option("--literal", is_flag=True, help="Take the query as plain words, without phrases, fields and operators.")
@page_options
@model_options
@engine_options
def search(query: str, index: str | None, as_json: bool, **options: Any) -> None:  # noqa: FBT001 - click passes flags so
    """Search an index by words and by meaning at once.

    A query may hold "phrases", -exclusions, AND, OR, NOT, brackets and fields such as title:word, author:name and
    year:2019..2021.
    """
    import ses
    from ses.arguments import settings_of
    from ses.printing import show_page
    from ses.requests import given_options

    library = ses.open(**settings_of(options))
    opened = library[index] if index else library.default()
    show_page(opened.search(query, **given_options(options)), as_json=as_json, explain=options["explain"])
