"""Errors as problem details for HTTP (RFC 9457): the sentence and the hint of the library."""

from __future__ import annotations

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


def problem(
    status: int, detail: str, *, hint: str = "", headers: Mapping[str, str] | None = None, request_id: str = ""
) -> Response:
    """Return a problem as `application/problem+json`.

    Args:
        status: The status of the response.
        detail: One sentence: what is wrong.
        hint: What to do about it.
        headers: Further headers.
        request_id: The id by which the log names the request.

    Returns:
        The response.
    """
    content = {"type": "about:blank", "title": HTTPStatus(status).phrase, "status": status, "detail": detail}
    if hint:
        content["hint"] = hint
    if request_id:
        content["request"] = request_id
    retry = {"Retry-After": str(RETRY_SECONDS)} if status == HTTPStatus.SERVICE_UNAVAILABLE else {}
    return Response(orjson.dumps(content), status, {**retry, **(headers or {})}, media_type="application/problem+json")


def problem_of(error: SesError, request_id: str = "") -> Response:
    """Return an error of the library as a problem."""
    return problem(STATUS[error.kind], error.message(), hint=written(error.hint, as_argument), request_id=request_id)


def fault(request_id: str) -> Response:
    """Return a fault of ses as a problem; the log says more."""
    sentence = "ses has a fault, which is in its log; please report it."
    return problem(HTTPStatus.INTERNAL_SERVER_ERROR, sentence, request_id=request_id)


def add_handlers(app: FastAPI) -> None:
    """Answer every error of an application by a problem; `RequestLog` answers faults."""

    @app.exception_handler(SesError)
    def _library(request: Request, error: SesError) -> Response:
        return problem_of(error, _id(request))

    @app.exception_handler(RequestValidationError)
    def _parameters(request: Request, error: RequestValidationError) -> Response:
        sentences = " ".join(map(_sentence, error.errors()[:5]))
        return problem(HTTPStatus.BAD_REQUEST, sentences, request_id=_id(request))

    @app.exception_handler(HTTPException)
    def _http(request: Request, error: HTTPException) -> Response:
        details = {404: f"There is nothing at {request.url.path}.", 405: f"{request.method} is not allowed here."}
        detail = details.get(error.status_code, str(error.detail))
        return problem(error.status_code, detail, headers=error.headers, request_id=_id(request))


def _id(request: Request) -> str:
    return str(getattr(request.state, "request_id", ""))


def _sentence(error: Mapping[str, Any]) -> str:
    place: Sequence[Any] = error["loc"][1:]
    name = ".".join(map(str, place)) or "The body"
    if error["type"] == "extra_forbidden":
        return f"There is no parameter {name}."
    if error["type"] == "missing":
        return f"{name} is missing."
    return f"{name} can't be {str(error.get('input'))[:80]!r}: {error['msg'][:1].lower()}{error['msg'][1:]}."
