"""`POST /v1/rerank` and `/v2/rerank`: the request and the answer of Cohere's API."""

from __future__ import annotations

from typing import Annotated, Any
from uuid import uuid4

from fastapi import APIRouter, Body, Depends, Response
from pydantic import Field

from corpora.lazy import np
from ses.service.access import needs
from ses.service.answers import json_response
from ses.service.encoding import SOME_TEXTS, Chosen, TextToEncode, check_texts, choose
from ses.service.parameters import NoParameters, ServiceOf
from ses.service.problems import route_with


def _message(detail: str, _status: int) -> dict[str, Any]:
    return {"message": detail}


router = APIRouter(
    tags=["vectors"],
    dependencies=[Depends(needs("encode"))],
    route_class=route_with(_message),  # clients of Cohere show it
)


class RerankedText(NoParameters):
    """A document to rank."""

    text: TextToEncode = Field(description="Its text; a line end ends a title, and an abstract follows.")


class RerankInput(NoParameters):
    """A request of Cohere's API."""

    query: TextToEncode = Field(description="The query.", examples=["origin of the coronavirus"])
    documents: list[TextToEncode | RerankedText] = Field(
        description="Documents to rank: texts, or objects with a text.",
        json_schema_extra=dict(SOME_TEXTS),
        examples=[["A pneumonia outbreak associated with a new coronavirus of probable bat origin"]],
    )
    model: str = Field(
        "",
        description="A reranker that the service lists, the index's model, or an index; the first reranker if empty.",
    )
    top_n: int | None = Field(None, ge=1, description="Results to return; all if it is not given.")
    max_tokens_per_doc: int | None = Field(None, description="Is not used: a model reads the first tokens of a text.")
    return_documents: bool = Field(default=False, description="Whether results hold the text of their document.")


@router.post("/v1/rerank", summary="Rank documents by a query, in the shape of Cohere's API")
@router.post("/v2/rerank", summary="Rank documents by a query, in the shape of Cohere's API, version 2")
def rerank(service: ServiceOf, asked: Annotated[RerankInput, Body()]) -> Response:
    """Rank documents by a reranker, or by the cosine of their vectors to that of the query, the best first."""
    documents = [one if isinstance(one, str) else one.text for one in asked.documents]
    check_texts([asked.query])
    name = asked.model or next(iter(service.settings.rerankers), "")
    if name in service.models.rerankers:
        check_texts(documents)
        texts = [" ".join(text.split()) for text in documents]
        scores = service.models.scorer(name).scores(asked.query, texts).tolist()
    else:
        queries = choose(service, model=asked.model, task_format="qry")
        papers = choose(service, model=asked.model, task_format="prx")
        scores = _cosines(queries, papers, asked.query, documents)
    ranked = sorted(range(len(documents)), key=lambda at: (-scores[at], at))[: asked.top_n]
    results: list[dict[str, Any]] = [
        {"index": at, "relevance_score": scores[at]}
        | ({"document": {"text": documents[at]}} if asked.return_documents else {})
        for at in ranked
    ]
    return json_response({"id": str(uuid4()), "results": results, "meta": {"api_version": {"version": "1"}}})


def _cosines(queries: Chosen, papers: Chosen, query: str, documents: list[str]) -> list[float]:
    """Return the cosine of each document to a query, from -1.0 to 1.0."""
    vectors = papers.encode([papers.text(text) for text in documents]).astype(np.float64)
    vector = queries.encode([query])[0].astype(np.float64)
    lengths = np.linalg.norm(vectors, axis=1) * np.linalg.norm(vector)
    cosines: list[float] = np.clip(vectors @ vector / np.maximum(lengths, 1e-12), -1.0, 1.0).tolist()
    return cosines
