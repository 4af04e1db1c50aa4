"""`GET /v1/papers/{id}`."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request, Response

from ses.service.access import needs
from ses.service.answers import paper_answer
from ses.service.parameters import PaperParameters, ServiceOf, given_once
from ses.service.schemas import PAPER, PAPER_ID

router = APIRouter(prefix="/v1/papers", tags=["papers"], dependencies=[Depends(needs("search")), Depends(given_once)])


@router.get("/{paper_id:path}", summary="A paper by its id, DOI, PMID, PMCID or arXiv id", responses=PAPER)
def paper(
    request: Request, service: ServiceOf, paper_id: Annotated[str, PAPER_ID], asked: Annotated[PaperParameters, Query()]
) -> Response:
    """Return a paper of an index. Other papers that share the identifier are under `others`."""
    return paper_answer(request, service, asked, paper_id)
