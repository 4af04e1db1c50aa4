"""Problems with further members, in which the clients of other APIs look for the sentence."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from typing import Any

import orjson
from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute

from corpora.errors import SesError
from ses.service.problems import problem, problem_of
from ses.wrong_values import sentences_of


def route_with(members: Callable[[str, int], Mapping[str, Any]]) -> type[APIRoute]:
    """Return a kind of route whose problems have further members.

    Args:
        members: Function of the sentence and the status, which returns the members.

    Returns:
        The class of the route, for `APIRouter`.
    """

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
