"""`POST /v1/embeddings`: the request and the answer of OpenAI's API, which many programs send and read."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Body, Depends, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import BeforeValidator, Field

from corpora.errors import SesError, require
from ses.service.access import needs
from ses.service.answers import json_response
from ses.service.encoding import Encoding, as_json, choose, model_name, refuse_tokens, tokens_of
from ses.service.parameters import NoParameters, ServiceOf
from ses.service.problems import problem, problem_of, sentence_of


class _OpenAiRoute(APIRoute):
    """A route whose problems also have the member `error`, which clients of OpenAI and Elasticsearch show."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def handler(request: Request) -> Response:
            try:
                return await handle(request)
            except SesError as error:
                return _with_error(problem_of(error))
            except RequestValidationError as error:
                return _with_error(problem(400, " ".join(dict.fromkeys(map(sentence_of, error.errors()[:5])))))

        return handler


def _with_error(response: Response) -> Response:
    content = orjson.loads(response.body)
    kind = "invalid_request_error" if response.status_code < 500 else "server_error"
    content["error"] = {"message": content["detail"], "type": kind, "param": None, "code": None}
    headers = {name: value for name, value in response.headers.items() if name != "content-length"}
    return Response(orjson.dumps(content), response.status_code, headers)


router = APIRouter(prefix="/v1", tags=["vectors"], dependencies=[Depends(needs("encode"))], route_class=_OpenAiRoute)


class EmbeddingsAsked(NoParameters):
    """A request of OpenAI's API."""

    input: Annotated[str | list[str], BeforeValidator(refuse_tokens)] = Field(
        description="A text, or a list of 1,024 at most. The first of several lines is a title, the rest an abstract.",
        examples=[["A pneumonia outbreak associated with a new coronavirus of probable bat origin"]],
    )
    model: str = Field(
        "", description="The index's model or an index; a format may follow after a colon.", examples=["ses-minilm:clf"]
    )
    encoding_format: Encoding = Field("float", description="Vectors as lists of numbers, or as float32 in base64.")
    dimensions: int | None = Field(None, description="The dimension of the model, if it is given.")
    user: str | None = Field(None, description="Is not used.")
    input_type: str = Field("", description="`query`, `passage`, `classification` or `regression`.", examples=["query"])
    content_type: str = Field("", description="The same, as OpenSearch 3.5 and later send it.", examples=["passage"])


@router.post("/embeddings", summary="Encode texts, in the shape of OpenAI's API")
def embeddings(service: ServiceOf, asked: Annotated[EmbeddingsAsked, Body()]) -> Response:
    """Encode texts as OpenAI's clients, connectors of OpenSearch and endpoints of Elasticsearch ask for it."""
    require(
        not (asked.input_type and asked.content_type) or asked.input_type == asked.content_type,
        "input_type and content_type differ",
        "give one of them",
    )
    chosen = choose(service, model=asked.model, task_format=asked.input_type or asked.content_type)
    dimension = chosen.encoder.card.dimension
    require(
        asked.dimensions in (None, dimension),
        f"Vectors of this model have {dimension} numbers, not {asked.dimensions}",
        f"leave it out, or give {dimension}",
    )
    texts = [asked.input] if isinstance(asked.input, str) else asked.input
    prepared = [chosen.text(text) for text in texts]
    vectors = as_json(chosen.encode(prepared), asked.encoding_format)
    tokens = tokens_of(chosen, prepared)
    return json_response(
        {
            "object": "list",
            "data": [{"object": "embedding", "index": at, "embedding": one} for at, one in enumerate(vectors)],
            "model": model_name(chosen),
            "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
        }
    )
