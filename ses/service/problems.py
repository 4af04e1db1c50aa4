"""Errors as problem details for HTTP (RFC 9457): the sentence and the hint of the library."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

import orjson
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from corpora.errors import ErrorKind, SesError, as_argument, written

if TYPE_CHECKING:
    from collections.abc import Sequence

STATUS: Mapping[ErrorKind, int] = {
    "invalid": 400,
    "not found": 404,
    "conflict": 409,
    "unavailable": 503,
    "stopped": 503,
}
"""The status of each kind of error."""

RETRY_SECONDS = 5
"""When a client should ask again after a 503."""


def problem(status: int, detail: str, *, hint: str = "", headers: Mapping[str, str] | None = None) -> Response:
    """Return a problem as `application/problem+json`.

    Args:
        status: The status of the response.
        detail: One sentence: what is wrong.
        hint: What to do about it.
        headers: Further headers.

    Returns:
        The response.
    """
    content = {"type": "about:blank", "title": HTTPStatus(status).phrase, "status": status, "detail": detail}
    if hint:
        content["hint"] = hint
    retry = {"Retry-After": str(RETRY_SECONDS)} if status == HTTPStatus.SERVICE_UNAVAILABLE else {}
    return Response(orjson.dumps(content), status, {**retry, **(headers or {})}, media_type="application/problem+json")


def problem_of(error: SesError) -> Response:
    """Return an error of the library as a problem."""
    return problem(STATUS[error.kind], error.message(), hint=written(error.hint, as_argument))


def add_handlers(app: FastAPI) -> None:
    """Answer every error of an application by a problem."""

    @app.exception_handler(SesError)
    def _library(_: Request, error: SesError) -> Response:
        return problem_of(error)

    @app.exception_handler(RequestValidationError)
    def _parameters(_: Request, error: RequestValidationError) -> Response:
        return problem(HTTPStatus.BAD_REQUEST, " ".join(map(_sentence, error.errors()[:5])))

    @app.exception_handler(HTTPException)
    def _http(request: Request, error: HTTPException) -> Response:
        details = {404: f"There is nothing at {request.url.path}.", 405: f"{request.method} is not allowed here."}
        return problem(error.status_code, details.get(error.status_code, str(error.detail)), headers=error.headers)

    @app.exception_handler(Exception)
    def _fault(_: Request, error: Exception) -> Response:
        logging.getLogger("ses.service").error("A request failed.", exc_info=error)
        return problem(HTTPStatus.INTERNAL_SERVER_ERROR, "ses has a fault, which is in its log; please report it.")


def _sentence(error: Mapping[str, Any]) -> str:
    place: Sequence[Any] = error["loc"][1:]
    name = ".".join(map(str, place)) or "The body"
    if error["type"] == "extra_forbidden":
        return f"There is no parameter {name}."
    if error["type"] == "missing":
        return f"{name} is missing."
    return f"{name} can't be {str(error.get('input'))[:80]!r}: {error['msg'][:1].lower()}{error['msg'][1:]}."
