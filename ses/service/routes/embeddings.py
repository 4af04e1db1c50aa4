"""`POST /v1/embeddings`: the request and the answer of OpenAI's API, which many programs send and read."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Body, Depends, Response
from pydantic import BeforeValidator, Field

from corpora.errors import require
from ses.service.access import needs
from ses.service.answers import json_response
from ses.service.encoding import (
    SOME_TEXTS,
    Encoding,
    TextToEncode,
    as_json,
    choose,
    model_name,
    refuse_tokens,
    tokens_of,
)
from ses.service.parameters import NoParameters, ServiceOf
from ses.service.problems import route_with


def _error(detail: str, status: int) -> dict[str, Any]:
    kind = "invalid_request_error" if status < 500 else "server_error"
    return {"error": {"message": detail, "type": kind, "param": None, "code": None}}


router = APIRouter(
    prefix="/v1",
    tags=["vectors"],
    dependencies=[Depends(needs("encode"))],
    route_class=route_with(_error),  # clients of OpenAI and Elasticsearch show it
)


class EmbeddingsInput(NoParameters):
    """A request of OpenAI's API."""

    input: Annotated[
        TextToEncode | Annotated[list[TextToEncode], Field(json_schema_extra=dict(SOME_TEXTS))],
        BeforeValidator(refuse_tokens),
    ] = Field(
        description="A text, or a list of them. A line end ends a title; an abstract follows.",
        examples=[["A pneumonia outbreak associated with a new coronavirus of probable bat origin"]],
    )
    model: str = Field(
        "", description="The index's model or an index; a format may follow after a colon.", examples=["ses-minilm:qry"]
    )
    encoding_format: Encoding = Field("float", description="Vectors as lists of numbers, or as float32 in base64.")
    dimensions: int | None = Field(None, description="The dimension of the model, if it is given.")
    user: str | None = Field(None, description="Is not used.")
    input_type: str = Field("", description="`query`, `passage`, `classification` or `regression`.", examples=["query"])
    content_type: str = Field("", description="The same, as OpenSearch 3.5 and later send it.", examples=["passage"])


@router.post("/embeddings", summary="Encode texts, in the shape of OpenAI's API")
def embeddings(service: ServiceOf, asked: Annotated[EmbeddingsInput, Body()]) -> Response:
    """Encode texts as OpenAI's clients, connectors of OpenSearch and endpoints of Elasticsearch ask for it."""
    require(
        not (asked.input_type and asked.content_type) or asked.input_type == asked.content_type,
        "input_type and content_type differ",
        "give one of them",
    )
    chosen = choose(service, model=asked.model, task_format=asked.input_type or asked.content_type)
    dimension = chosen.dimension
    require(
        asked.dimensions in (None, dimension),
        f"Vectors of this model have {dimension} numbers, not {asked.dimensions}",
        f"leave it out, or give {dimension}",
    )
    texts = [asked.input] if isinstance(asked.input, str) else asked.input
    prepared = [chosen.text(text) for text in texts]
    vectors = as_json(chosen.encode(prepared, texts), asked.encoding_format)
    tokens = tokens_of(chosen, prepared)
    return json_response(
        {
            "object": "list",
            "data": [{"object": "embedding", "index": at, "embedding": one} for at, one in enumerate(vectors)],
            "model": model_name(chosen),
            "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
        }
    )
