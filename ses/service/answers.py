"""Pages of hits as HTTP responses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import orjson
from fastapi import Response

if TYPE_CHECKING:
    from search_plugin.pages.page import Page


def json_response(content: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """Return values, dataclasses among them, as a JSON response."""
    return Response(orjson.dumps(content), status, headers, media_type="application/json")


def page_content(page: Page, *, fields: Sequence[str] = (), explain: bool = False) -> dict[str, Any]:
    """Return a page as plain values, as `Page.to_dict` does, with the link of each hit.

    Args:
        page: The page.
        fields: Attributes of a paper to show; all if there is none.
        explain: Whether to show what each leg gave to a hit, the time of each stage and the requests to a cluster.

    Returns:
        The values, ready for JSON.
    """
    content = page.to_dict()
    for hit, shown in zip(page.hits, content["hits"], strict=True):
        shown["link"] = hit.link
        if fields:
            shown["paper"] = {name: value for name, value in shown["paper"].items() if name in ("id", *fields)}
        if not explain:
            del shown["legs"]
    if not explain:
        del content["milliseconds"], content["requests"]
    return content
