"""`ses similar`."""

from __future__ import annotations

from typing import Any

import rich_click as click

from ses.options import engine_options, page_options


@click.command()
@click.argument("paper_id")
@page_options
@engine_options
def similar(paper_id: str, index: str | None, as_json: bool, **options: Any) -> None:  # noqa: FBT001 - click passes flags so
    """Find papers like one in the index, by its vector (or by its title's words too, with --mode hybrid)."""
    from search_plugin.engines.registry import connect
    from search_plugin.search import similar as run
    from ses.printing import show_page
    from ses.settings import load_settings
    from ses.wiring import open_index, page_request, settings_of, tuned_settings

    settings = load_settings(**settings_of(options))
    tuned = tuned_settings(settings)
    request = page_request(paper_id, options["mode"] or "vector", options, tuned)
    opened = open_index(connect(settings.engine_url, settings.connection), index, tuned)
    show_page(run(opened, paper_id, request), as_json=as_json, explain=options["explain"])
