"""Answers that clients keep: an ETag for each, and 304 for a client that has the answer (RFC 9110, section 13)."""

from __future__ import annotations

import re
from collections.abc import Callable
from hashlib import blake2b

import orjson
from fastapi import Request, Response

_TAG = re.compile(r'(?:W/)?"([^"]*)"')


def etag_of(request: Request, revision: str, answer_format: str = "") -> str:
    """Return the ETag of the answer to a request.

    It is weak, since the same answer may be compressed and carries the time that it took.

    Args:
        request: The request.
        revision: Text that changes whenever the answer may have changed.
        answer_format: Format of the answer.

    Returns:
        The value of the header.
    """
    address = [str(request.base_url), request.scope["path"], request.query_params.multi_items()]
    asked = [request.app.version, revision, answer_format, *address]
    return f'W/"{blake2b(orjson.dumps(asked), digest_size=12).hexdigest()}"'


def unless_kept(request: Request, etag: str, make: Callable[[], Response]) -> Response:
    """Return the answer to a GET with its ETag, or 304 without making it if the client has it.

    Args:
        request: The request.
        etag: The ETag of the answer.
        make: Function that makes the answer.

    Returns:
        The response.
    """
    given = request.headers.get("if-none-match", "").strip()
    headers = {"ETag": etag}
    if etag.removeprefix("W/").strip('"') in _TAG.findall(given):
        return Response(status_code=304, headers={**headers, "Vary": "Accept"})
    response = make()
    # The star stands for any answer, but not for an error, so the answer is made first.
    if given == "*":
        return Response(status_code=304, headers={**headers, "Vary": "Accept"})
    response.headers.update(headers)
    return response
