"""`GET /v1/papers/{id}`."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response

from ses.service.access import needs
from ses.service.answers import paper_answer
from ses.service.parameters import PaperParameters, ServiceOf, asks, parameters_of
from ses.service.schemas import PAPER, PAPER_ID

router = APIRouter(prefix="/v1/papers", tags=["papers"], dependencies=[Depends(needs("search"))])


@router.get(
    "/{paper_id:path}",
    summary="A paper by its id, DOI, PMID, PMCID or arXiv id",
    responses=PAPER,
    openapi_extra=parameters_of(PaperParameters),
)
def paper(
    request: Request,
    service: ServiceOf,
    paper_id: Annotated[str, PAPER_ID],
    asked: Annotated[PaperParameters, asks(PaperParameters)],
) -> Response:
    """Return a paper of an index. Other papers that share the identifier are under `others`."""
    return paper_answer(request, service, asked, paper_id)
