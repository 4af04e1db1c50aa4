"""`ses search`."""

from __future__ import annotations

from typing import Any

import rich_click as click

from ses.options import engine_options, model_options, page_options


@click.command()
@click.argument("query")
@page_options
@model_options
@engine_options
def search(query: str, index: str | None, as_json: bool, **options: Any) -> None:  # noqa: FBT001 - click passes flags so
    """Search an index by words and by meaning at once."""
    from encoders.registry import find_model
    from search_plugin.engines.registry import connect
    from search_plugin.search import check_model
    from search_plugin.search import search as run
    from ses.printing import show_page
    from ses.settings import load_settings
    from ses.wiring import make_encoder, open_index, page_request, settings_of, tuned_settings

    settings = load_settings(**settings_of(options))
    tuned = tuned_settings(settings)
    request = page_request(query, options["mode"] or "hybrid", options, tuned)
    opened = open_index(connect(settings.engine_url, settings.connection), index, tuned)
    encoder = None
    if request.mode != "lexical":
        model = find_model(settings.model or opened.schema.model)
        check_model(opened, model.card.name, model.card.fingerprint)
        encoder = make_encoder(settings, model)
    show_page(run(opened, request, encoder), as_json=as_json, explain=options["explain"])
