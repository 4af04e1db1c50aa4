"""`ses similar`."""

from __future__ import annotations

from typing import Any

import rich_click as click

from ses.options import engine_option, page_options


@click.command()
@click.argument("paper_id")
@page_options
@engine_option
def similar(paper_id: str, index: str | None, **options: Any) -> None:
    """Find papers like one in the index, by its vector (or by its title's words too, with --mode hybrid)."""
    import ses
    from ses.arguments import settings_of
    from ses.printing import show_page
    from ses.requests import given_options

    library = ses.open(**settings_of(options))
    opened = library[index] if index else library.default()
    page = opened.similar(paper_id, **given_options(options))
    show_page(page, options)
