"""`POST /v1/encode`."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Body, Depends, Response
from pydantic import Field

from ses.service.access import needs
from ses.service.answers import json_response
from ses.service.encoding import SOME_TEXTS, Encoding, TextToEncode, as_json, choose, model_name
from ses.service.parameters import NoParameters, ServiceOf

router = APIRouter(prefix="/v1", tags=["vectors"], dependencies=[Depends(needs("encode"))])


class TitleAndAbstract(NoParameters):
    """The text of a paper."""

    title: str = Field(description="Title of the paper.")
    abstract: str = Field("", description="Its abstract.")


class Texts(NoParameters):
    """Texts to encode."""

    texts: list[TextToEncode | TitleAndAbstract] = Field(
        description="Texts, such as queries, or papers by title and abstract.",
        json_schema_extra=dict(SOME_TEXTS),
        examples=[[{"title": "A pneumonia outbreak associated with a new coronavirus of probable bat origin"}]],
    )
    format: Literal["prx", "qry", "clf", "rgn"] = Field("prx", description="The task of the vectors.")
    model: str = Field("", description="Name of the model; that of the index if none is named.")
    index: str = Field("", description="The index whose model encodes; the default one if none is named.")
    encoding: Encoding = Field("float", description="Vectors as lists of numbers, or as float32 in base64.")


@router.post("/encode", summary="Encode texts")
def encode(service: ServiceOf, asked: Annotated[Texts, Body()]) -> Response:
    """Encode texts by the model of an index, so that they can be compared with its papers."""
    chosen = choose(service, index=asked.index, model=asked.model, task_format=asked.format)
    card = chosen.encoder.card
    texts = [one if isinstance(one, str) else card.text(one.title, one.abstract) for one in asked.texts]
    said = [one if isinstance(one, str) else f"{one.title} {one.abstract}" for one in asked.texts]
    vectors = as_json(chosen.encode(texts, said), asked.encoding)
    name, _, _ = model_name(chosen).rpartition(":")
    return json_response(
        {
            "model": name,
            "fingerprint": chosen.fingerprint,
            "format": chosen.format,
            "dimension": chosen.dimension,
            "similarity": card.similarity,
            "vectors": vectors,
        }
    )
