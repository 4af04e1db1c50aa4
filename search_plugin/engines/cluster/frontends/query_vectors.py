"""How a program makes the vector of the words that it was given, without ses or by its service.

The words of a text, the direction of a sum, and the reader of a table are written once for each language, in
`languages/sources`. The packages for npm and Composer (`javascript/`, `php/`) are made of the same files.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from corpora.errors import InputError, require
from search_plugin.contract.plan import LEXICAL, Plan
from search_plugin.contract.schema import ForeignField
from search_plugin.engines.cluster.frontends.http import HttpRequest, Parameter
from search_plugin.engines.cluster.frontends.page_request import page_request
from search_plugin.engines.cluster.frontends.script import TERMS, WORDS, QueryVector, VectorWay
from search_plugin.engines.cluster.index import ClusterIndex
from search_plugin.engines.cluster.passages import path_of
from search_plugin.request import SearchRequest


def query_vector(index: ClusterIndex, way: VectorWay, plan: Plan, request: SearchRequest, first: int) -> QueryVector:
    """Return how a program makes the vector of a plan's first vector leg, for words that are a parameter.

    The way has its request. `first` papers by words give their vectors, for feedback. Raises `InputError` if the papers
    have vectors of passages, or of others than ses, which this way can't use.
    """
    words: Any = Parameter(WORDS, "text")
    field = index.schema.leg(plan.vectors[0].field)
    require(
        way == "service" or not isinstance(field, ForeignField),
        f"The vectors of {index.name} are of another model than ses's own",
        "choose <vector=service>",
    )
    if way == "words":
        path = f"/ses-{index.name}-words/_mget?filter_path=docs._id,docs._source"
        return QueryVector(way, HttpRequest("POST", path, {"ids": Parameter(TERMS)}, "The vectors of the words"))
    if way == "service":
        body_of_service = {"texts": [words], "format": "qry", "index": index.name}
        return QueryVector(way, HttpRequest("POST", "/v1/encode", body_of_service, "The vector of the words"))
    if way == "table":
        return QueryVector(way)
    if LEXICAL not in plan.legs or not index.holds_vectors or field.unit != "paper":
        raise InputError(
            f"The first papers by words can't give a search in {index.name} its vector",
            "choose another <vector>: feedback needs words, and one vector in each document",
        )
    page = page_request(index, replace(plan, vectors=()), replace(request, facets=(), offset=0, size=first))
    kept = {name: part for name, part in page.body.items() if name in ("query", "sort", "size")}
    found = index.translated({"fields": [path_of(field)]})["fields"]
    body = {**kept, "_source": False, "fields": found, "track_total_hits": False}
    return QueryVector(way, replace(page, body=body, why="The first papers by words, with their vectors"), *found)
