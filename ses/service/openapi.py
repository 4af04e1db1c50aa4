"""The description of the API (OpenAPI 3.1): `/openapi.json`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from starlette.routing import BaseRoute

from ses.service.parameters import DEFAULT_MARK

_PROBLEM = {
    "type": "object",
    "description": "What is wrong (RFC 9457).",
    "properties": {
        "type": {"type": "string", "description": "Always `about:blank`."},
        "title": {"type": "string", "description": "The name of the status."},
        "status": {"type": "integer", "description": "The status of the response."},
        "detail": {"type": "string", "description": "One sentence: what is wrong, and what to do."},
        "hint": {"type": "string", "description": "What to do, where there is advice."},
        "request": {"type": "string", "description": "The id by which the log names the request."},
    },
    "required": ["type", "title", "status", "detail"],
    "examples": [
        {
            "type": "about:blank",
            "title": "Bad Request",
            "status": 400,
            "detail": "size can't be 'many'; give a whole number.",
        }
    ],
}
_PROBLEMS = {
    "400": "A parameter or the body can't be used so.",
    "401": "The request needs an API key.",
    "403": "The API key does not allow this.",
    "404": "What the request names does not exist.",
    "406": "The answer can't be made in a format that the client accepts.",
    "413": "The body is too large.",
    "415": "The body is not JSON.",
    "429": "Too many requests; the header Retry-After says when to ask again.",
    "503": "The engine does not answer, or the service is overloaded; ask again after the seconds in Retry-After.",
}
_WITH_BODY = ("413", "415")
_TAGS = (
    ("search", "Papers by words and by meaning, and papers like others."),
    ("papers", "The papers of an index."),
    ("indexes", "What can be searched."),
    ("feeds", "Feeds for feed readers."),
    ("vectors", "Vectors of texts."),
    ("operation", "For those who run the service."),
)
_NOT_MODIFIED = {"description": "The client has this answer: the header If-None-Match names its ETag."}


def describe(app: FastAPI, routes: Callable[[], list[BaseRoute]]) -> None:
    """Let an application describe itself: with its problems, and without FastAPI's errors, which it never sends.

    `routes` returns all its routes.
    """

    def description() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = _described(app, routes())
        return app.openapi_schema

    app.openapi = description  # type: ignore[method-assign]  # as FastAPI documents it


def _described(app: FastAPI, routes: list[BaseRoute]) -> dict[str, Any]:
    made = get_openapi(title=app.title, version=app.version, description=app.description, routes=routes)
    components = made.setdefault("components", {})
    schemas = components.setdefault("schemas", {})
    for name in ("HTTPValidationError", "ValidationError"):
        schemas.pop(name, None)
    schemas["Problem"] = _PROBLEM
    content = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
    described = {**_PROBLEMS, "default": "Any other error."}
    components["responses"] = {
        f"Problem{status}": {"description": text, "content": content} for status, text in described.items()
    }
    used = set()
    for path in made["paths"].values():
        for method, operation in path.items():
            used.update(operation.get("tags", ()))
            for parameter in operation.get("parameters", ()):
                _tidy(parameter)
            responses = operation["responses"]
            responses.pop("422", None)
            if method == "get" and operation.get("parameters"):
                responses.setdefault("304", _NOT_MODIFIED)
            for status in described:
                if status not in _WITH_BODY or "requestBody" in operation:
                    responses.setdefault(status, {"$ref": f"#/components/responses/Problem{status}"})
    _drop_odd_defaults(schemas)
    made["tags"] = [{"name": name, "description": text} for name, text in _TAGS if name in used]
    # Addresses are relative to that of the description, so they are right behind every proxy.
    made["servers"] = [{"url": "."}]
    return made


def _drop_odd_defaults(schemas: dict[str, Any]) -> None:
    """Remove defaults that stand for none, such as an empty text where one of some words can be given."""
    for schema in schemas.values():
        for one in schema.get("properties", {}).values():
            if "enum" in one and one.get("default") not in one["enum"]:
                one.pop("default", None)


def _tidy(parameter: dict[str, Any]) -> None:
    """Remove what FastAPI says twice, and defaults that are no values or not in force."""
    schema = parameter["schema"]
    for name in ("title", "description"):
        schema.pop(name, None)
    if schema.get("default") in ("", []) or DEFAULT_MARK in parameter.get("description", ""):
        schema.pop("default", None)
