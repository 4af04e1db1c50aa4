"""Errors as problem details for HTTP (RFC 9457): the sentence and the hint of the library.

What an error says of the machine, such as paths and the engine's address, is for the log, and for keys of admins.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Coroutine, Iterator, Mapping
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import orjson
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException

from corpora.errors import ErrorKind, SesError, as_argument, written
from corpora.outgoing import plain
from ses.service.http_layer import allowed
from ses.wrong_values import sentences_of

if TYPE_CHECKING:
    from fastapi import Request

    from ses.settings import Settings


_WITHHELD = "…"
_SHORTEST = 4
"""Characters of a place that is looked for by its name."""

_PLACE = re.compile(
    r"[a-z][a-z0-9+.-]*://[^\s'\"<>()]*[^\s'\"<>().,:;]"  # an address
    r"|(?<![\w.])\d{1,3}(\.\d{1,3}){3}(:\d+)?"  # of IPv4
    r"|\[[0-9a-f]*:[0-9a-f:.]+\](:\d+)?"  # of IPv6
    r"|((?<![\w./…])/|\b[a-z]:\\)[^\s'\"<>();,]*[^\s'\"<>().,:;]",  # a path
    re.IGNORECASE,
)

_log = logging.getLogger("ses.service")


def message_and_hint(request: Request, error: SesError) -> tuple[str, str]:
    """Return what a client may know of an error: its message and its hint.

    Where they name a place of the machine, which only a key with the scope admin may know, the whole message is logged.
    """
    message, hint = error.message(), written(error.hint, as_argument)
    caller = getattr(request.state, "caller", None)
    if caller and "admin" in caller.scopes:
        return message, hint
    settings = request.app.state.service.library._settings
    shown, advice = (_without_places(one, error, settings) for one in (message, hint))
    if shown != message:
        _log.warning("%s", message, extra={"fields": {"request": getattr(request.state, "request_id", "")}})
    return shown, advice


def public_message(error: SesError, settings: Settings) -> str:
    """Return what everybody may know of an error: its message."""
    return _without_places(error.message(), error, settings)


def _without_places(text: str, error: SesError, settings: Settings) -> str:
    for place in sorted(_places(settings), key=len, reverse=True):
        text = text.replace(place, _WITHHELD)
    # Other errors hold what the client sent, such as the address of a paper.
    ours = error.kind in ("unavailable", "stopped", "conflict")
    return re.sub(f"{_WITHHELD}[\\w./-]*[\\w/-]", _WITHHELD, _PLACE.sub(_WITHHELD, text) if ours else text)


def _places(settings: Settings) -> Iterator[str]:
    """Yield the places that the settings name, as errors write them."""
    engine = settings.engine_url.partition(":")[2]
    folders = [settings.data_dir, settings.cache_dir, Path.home(), Path.cwd()]
    if engine.startswith("//"):
        for one in engine[2:].rpartition("@")[2].split(","):
            named = urlsplit(f"//{one}")
            yield from (text for text in (named.netloc, named.hostname) if text and len(text) >= _SHORTEST)
    else:
        folders.append(Path(engine).expanduser())
    folders += [
        path for path in (settings.tuned, settings.synonyms, Path(settings.model)) if path and path.is_absolute()
    ]
    for folder in folders:
        yield from (text for text in {str(folder), str(folder.resolve())} if len(text) >= _SHORTEST)


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

    `detail` is one sentence that says what is wrong, `hint` what to do about it, and `request_id` the id by which the
    log names the request.
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
    message, hint = message_and_hint(request, error)
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


def route_with(members: Callable[[str, int], Mapping[str, Any]]) -> type[APIRoute]:
    """Return a class of routes, for `APIRouter`, whose problems have more members, by the sentence and the status."""

    class Route(APIRoute):
        def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
            handle = super().get_route_handler()

            async def handler(request: Request) -> Response:
                try:
                    return await handle(request)
                except SesError as error:
                    found = problem_of(request, error)
                except RequestValidationError as error:
                    found = problem(400, sentences_of(error.errors()))
                content = orjson.loads(found.body)
                content |= members(content["detail"], found.status_code)
                headers = {name: value for name, value in found.headers.items() if name != "content-length"}
                return Response(orjson.dumps(content), found.status_code, headers)

            return handler

    return Route
