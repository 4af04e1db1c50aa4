"""The description of the API for people: `/docs`, made from the OpenAPI document, without a request to another host."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode

from fastapi import APIRouter, Depends, Request, Response

from ses.service.access import needs
from ses.service.web.render import html

router = APIRouter(include_in_schema=False)

_NOT_IN_ANCHORS = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True, slots=True)
class ShownOperation:
    """An operation of the API, as the page shows it.

    Attributes:
        method: Its method.
        path: Its path, with names in braces.
        anchor: Name of its section.
        summary: What it is for.
        description: What it does.
        example: A request that works as it is on most libraries.
        inputs: Name, schema and meaning of each parameter, or of each value of the body.
        answers: Its statuses, and the media types of those answers that are no problems.
    """

    method: str
    path: str
    anchor: str
    summary: str
    description: str
    example: str
    inputs: tuple[tuple[str, Mapping[str, Any], str], ...]
    answers: tuple[tuple[str, tuple[str, ...]], ...]


def operations_of(described: Mapping[str, Any], address: str) -> Iterator[ShownOperation]:
    """Yield the operations of an OpenAPI document; `address` is that of the service, for the examples."""
    for path, methods in described["paths"].items():
        for method, operation in methods.items():
            parameters, body = operation.get("parameters", ()), _body(described, operation)
            inputs = [(one["name"], one["schema"], one.get("description", "")) for one in parameters]
            inputs += [
                (name, schema, schema.get("description", "")) for name, schema in body.get("properties", {}).items()
            ]
            yield ShownOperation(
                method=method.upper(),
                path=path,
                anchor=_NOT_IN_ANCHORS.sub("-", f"{method}{path}".lower()).strip("-"),
                summary=operation["summary"],
                description=operation.get("description", ""),
                example=_example(address, path, parameters, body),
                inputs=tuple(inputs),
                answers=tuple(
                    (status, tuple(answer.get("content", ()))) for status, answer in operation["responses"].items()
                ),
            )


def _body(described: Mapping[str, Any], operation: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the schema of the JSON body of an operation; empty if it takes none."""
    content = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
    schema: Mapping[str, Any] = content.get("schema", {})
    if "$ref" in schema:
        return described["components"]["schemas"][schema["$ref"].rpartition("/")[2]]  # type: ignore[no-any-return]  # JSON
    return schema


def _example(address: str, path: str, parameters: Any, body: Mapping[str, Any]) -> str:
    """Return a command that sends an example of a request."""
    given = {}
    for one in parameters:
        example = next(iter(one.get("examples") or one["schema"].get("examples") or ()), None)
        example = one.get("example", example)
        if one["in"] == "path":
            path = path.replace(f"{{{one['name']}}}", quote(str(example or one["name"])))
        elif one["name"] in ("query", "sentence", "facets", "fields", "since") and example:
            given[one["name"]] = ",".join(example) if isinstance(example, list) else example
    query = f"?{urlencode(given, safe=',')}" if given else ""
    if not body:
        return f"curl '{address}{path}{query}'"
    sent = next(iter(body.get("examples", ())), None)
    if sent is None:
        return ""
    return f"curl '{address}{path}' --json '{json.dumps(sent, ensure_ascii=False)}'"


@router.get("/docs", dependencies=[Depends(needs("search"))])
def docs(request: Request) -> Response:
    """Show the operations of the API."""
    described = request.app.openapi()
    address = str(request.base_url).rstrip("/")
    return html(request, "docs.html", described=described, operations=tuple(operations_of(described, address)))
