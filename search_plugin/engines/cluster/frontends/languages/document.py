"""Requests as one JSON document."""

from __future__ import annotations

from dataclasses import asdict, fields
from typing import Any

import orjson

from corpora.outgoing import json_text
from search_plugin.engines.cluster.frontends.http import HttpRequest, Parameter, replaced
from search_plugin.engines.cluster.frontends.languages.parts import check_reading, content_type, filled, lines_of
from search_plugin.engines.cluster.frontends.script import NeighbourVectors, PageScript


def write(script: PageScript) -> str:
    """Return the document; a parameter that its sender fills is an object with its name."""
    check_reading(script)
    whole = {
        "url": script.url,
        "index": script.index,
        "product": script.product,
        "authorization": script.scheme,
        "requests": [_request(request, script) for request in script.requests],
        "joining": asdict(script.joining) if script.joining else None,
        "neighbours": _neighbours(script.neighbours) if script.neighbours else None,
        "parameters": list(script.parameters),
    }
    return json_text(orjson.dumps(whole, option=orjson.OPT_INDENT_2)) + "\n"


def _neighbours(how: NeighbourVectors) -> dict[str, Any]:
    """Return how neighbours count, without the request, which is among the others."""
    return {field.name: getattr(how, field.name) for field in fields(how) if field.name != "request"}


def _request(request: HttpRequest, script: PageScript) -> dict[str, Any]:
    def named(part: Any) -> Any:
        return {"parameter": part.name} if isinstance(part, Parameter) else part

    lines = lines_of(HttpRequest(request.method, request.path, filled(request.body, script)))
    return {
        "for": request.why,
        "method": request.method,
        "path": request.path,
        "content_type": content_type(request),
        "lines": [replaced(line, named) for line in lines],
    }
