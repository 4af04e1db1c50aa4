"""Render the templates of the web page."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastapi import Request, Response

from ses.service.web.static_files import static_file

if TYPE_CHECKING:
    from jinja2 import Environment

HERE = Path(__file__).parent


@functools.cache
def environment() -> Environment:
    """Return the environment of all templates: what they print is escaped, and an unknown name is an error."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    made = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        extensions=["jinja2.ext.i18n"],
    )
    made.install_null_translations(newstyle=True)  # type: ignore[attr-defined]  # of the extension
    return made


def html(request: Request, template: str, *, status: int = 200, **values: Any) -> Response:
    """Return a page of HTML.

    Args:
        request: The request that it answers; its service and the path under which a proxy serves it.
        template: Name of the template, such as `search.html`.
        status: Status of the response.
        **values: What the template shows.

    Returns:
        The response.
    """
    base = request.scope.get("root_path", "")
    text = (
        environment()
        .get_template(template)
        .render(base=base, static=static_file, site=request.app.state.service.settings.site, request=request, **values)
    )
    return Response(text, status, media_type="text/html; charset=utf-8")
