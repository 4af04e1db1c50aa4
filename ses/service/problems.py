"""Errors as problem details for HTTP (RFC 9457): the sentence and the hint of the library."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus

import orjson
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from corpora.errors import ErrorKind, SesError
from corpora.outgoing import plain
from ses.service.methods import allowed
from ses.service.withheld import told
from ses.wrong_values import sentences_of

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

_LONGEST_PATH = 80


class RefusedError(HTTPException):
    """A request that HTTP itself refuses, such as for a format that can't be made.

    Args:
        status: The status of the response.
        sentence: What is wrong, without a full stop.
        hint: What to do about it, without a full stop.
        headers: Further headers of the response.
    """

    def __init__(self, status: int, sentence: str, hint: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(status, f"{sentence}; {hint}.", headers)
        self.hint = hint


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
    content = {"type": "about:blank", "title": HTTPStatus(status).phrase, "status": status, "detail": plain(detail)}
    if hint:
        content["hint"] = plain(hint)
    if request_id:
        content["request"] = request_id
    retry = {"Retry-After": str(RETRY_SECONDS)} if status == HTTPStatus.SERVICE_UNAVAILABLE else {}
    return Response(orjson.dumps(content), status, {**retry, **(headers or {})}, media_type="application/problem+json")


def problem_of(request: Request, error: SesError) -> Response:
    """Return an error of the library as a problem, without what the client may not know."""
    message, hint = told(request, error)
    return problem(STATUS[error.kind], message, hint=hint, request_id=_id(request))


def fault(request_id: str) -> Response:
    """Return a fault of ses as a problem; the log says more."""
    sentence = "ses has a fault, which is in its log; please report it."
    return problem(HTTPStatus.INTERNAL_SERVER_ERROR, sentence, request_id=request_id)


def add_handlers(app: FastAPI) -> None:
    """Answer every error of an application by a problem; `RequestLog` answers faults."""

    @app.exception_handler(SesError)
    def _library(request: Request, error: SesError) -> Response:
        return _shown(request, problem_of(request, error))

    @app.exception_handler(RequestValidationError)
    def _parameters(request: Request, error: RequestValidationError) -> Response:
        faults = error.errors()
        sent = request.headers.get("content-type", "")
        if faults[0]["loc"] == ("body",) and sent.partition(";")[0].strip().lower() != "application/json":
            detail = "The body is not JSON; send it with Content-Type: application/json."
            accept = {"Accept": "application/json"}
            return problem(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, detail, headers=accept, request_id=_id(request))
        return _shown(request, problem(HTTPStatus.BAD_REQUEST, sentences_of(faults), request_id=_id(request)))

    @app.exception_handler(HTTPException)
    def _http(request: Request, error: HTTPException) -> Response:
        headers, path = dict(error.headers or {}), request.scope["path"]
        if error.status_code == HTTPStatus.NOT_FOUND:
            detail = f"There is nothing at {path[:_LONGEST_PATH]}."
        elif error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
            headers["Allow"] = allowed(request.scope)
            detail = f"{request.method} is not allowed at {path[:_LONGEST_PATH]}; use {headers['Allow']}."
        else:
            detail = str(error.detail)
        hint = error.hint if isinstance(error, RefusedError) else ""
        return _shown(request, problem(error.status_code, detail, hint=hint, headers=headers, request_id=_id(request)))


def _shown(request: Request, reply: Response) -> Response:
    """Return a problem as a page where a browser asks for one."""
    from ses.service.web.render import problem_page

    return problem_page(request, reply)


def _id(request: Request) -> str:
    return str(getattr(request.state, "request_id", ""))
