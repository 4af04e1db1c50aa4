"""`GET /v1/support`."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Response
from pydantic import Field

from products.support.support import LONGEST, READ
from ses.service.access import needs
from ses.service.answers import json_response
from ses.service.parameters import SOME_TEXT, NoParameters, ServiceOf, asks, parameters_of

router = APIRouter(prefix="/v1", tags=["search"], dependencies=[Depends(needs("search"))])


class SupportParameters(NoParameters):
    """The parameters of support for a sentence; an unknown one is an error."""

    index: str = Field("", description="The index; the default one if none is named.")
    sentence: str = Field(
        "",
        description="The sentence.",
        examples=["masks slow the spread of a virus"],
        json_schema_extra={**SOME_TEXT, "maxLength": LONGEST},
    )
    size: int = Field(10, description="Papers.", json_schema_extra={"minimum": 1, "maximum": READ})
    sentences: int = Field(
        3, description="Sentences shown of each paper.", json_schema_extra={"minimum": 1, "maximum": READ}
    )
    filter: list[str] = Field([], description="Filters of the search; repeatable.", examples=[["year>=2020"]])
    mode: str = Field(
        "hybrid", description="Mode of the search.", json_schema_extra={"enum": ["lexical", "vector", "hybrid"]}
    )


@router.get(
    "/support",
    summary="Papers with sentences near in meaning to a sentence",
    openapi_extra=parameters_of(SupportParameters),
)
def support(service: ServiceOf, asked: Annotated[SupportParameters, asks(SupportParameters)]) -> Response:
    """Find papers by a search, and compare a sentence with theirs; near ones may also contradict it."""
    options: dict[str, Any] = asked.model_dump(exclude={"index", "sentence"})
    found = service.ask(asked.index, lambda opened: opened.support(asked.sentence, **options))
    return json_response(found.to_dict())
