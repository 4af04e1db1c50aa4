"""`/v1/similar`: papers like one of the index, and like a text."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response
from pydantic import ConfigDict, Field

from corpora.errors import require
from ses.service import cursors
from ses.service.access import needs
from ses.service.answers import page_answer, paper_name, read_answer
from ses.service.parameters import SOME_TEXT, NoParameters, ServiceOf, SimilarInput, SimilarRead, asks, parameters_of
from ses.service.schemas import PAGE, PAPER_ID

router = APIRouter(prefix="/v1/similar", tags=["search"], dependencies=[Depends(needs("search"))])


class Manuscript(SimilarInput):
    """A text to find papers like, with the options of the search."""

    model_config = ConfigDict(
        strict=True,
        json_schema_extra={
            "examples": [
                {
                    "title": "Aerosol transmission of a respiratory virus in schools",
                    "abstract": "We measured the spread of a virus in classrooms.",
                    "filter": ["year>=2020"],
                    "size": 5,
                }
            ]
        },
    )

    title: str = Field(description="Title of the text.", json_schema_extra=dict(SOME_TEXT))
    abstract: str = Field("", description="Its abstract.")


@router.get(
    "/{paper_id:path}", summary="Papers like one of the index", responses=PAGE, openapi_extra=parameters_of(SimilarRead)
)
def similar(
    request: Request,
    service: ServiceOf,
    paper_id: Annotated[str, PAPER_ID],
    asked: Annotated[SimilarRead, asks(SimilarRead)],
) -> Response:
    """Find papers like one of the index, by its vector; the paper itself is not among the hits."""
    paper_id = paper_name(service, asked.index, paper_id)
    if asked.cursor:
        return read_answer(request, service, asked, cursors.similar_page(service, asked, paper_id), file="similar")
    return page_answer(
        request, service, asked, lambda: service.similar(asked.index, paper_id, asked.options()), file="similar"
    )


@router.post("", summary="Papers like a text", responses=PAGE)
def similar_text(
    request: Request, service: ServiceOf, asked: Manuscript, _: Annotated[NoParameters, asks(NoParameters)]
) -> Response:
    """Find papers like a text that is not in the index, such as a manuscript: its title, and its abstract if any."""
    title = " ".join(asked.title.split())
    require(title, "The title is empty", "give the <title> of the text")
    text = f"{title}\n{asked.abstract}"
    return page_answer(
        request, service, asked, lambda: service.similar_text(asked.index, text, asked.options()), file="similar"
    )
