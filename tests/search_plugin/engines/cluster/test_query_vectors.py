"""How a printed program gets the vector of its words: the request that it sends for it first."""

from __future__ import annotations

from dataclasses import replace

import pytest

from corpora.errors import InputError
from search_plugin.contract.plan import VectorClause
from search_plugin.contract.schema import ForeignField
from search_plugin.engines.cluster.frontends.http import HttpRequest, Parameter
from search_plugin.engines.cluster.frontends.query_vectors import query_vector
from search_plugin.engines.cluster.frontends.script import QueryVector
from search_plugin.request import SearchRequest
from tests.search_plugin.engines.cluster.conversations import attached_with, index_with
from tests.search_plugin.engines.cluster.test_joining import FILTER, PLAN, SCHEMA, VECTOR

REQUEST = SearchRequest("virus lung", facets=("year",), offset=4, size=7)
WORDS = Parameter("words", "text")
TEXTS = [
    {"match": {"title_abstract": {"query": "virus lung"}}},
    {"match": {"title": {"query": "virus lung", "boost": 0.3}}},
]
FIRST = {
    "query": {"bool": {"should": TEXTS, "minimum_should_match": 1, "filter": [FILTER]}},
    "sort": [{"_score": "desc"}, {"id": "asc"}],
    "size": 3,
    "_source": False,
    "fields": ["vector_prx"],
    "track_total_hits": False,
}
BY_WORDS = "/papers/_search?allow_partial_search_results=false&search_type=dfs_query_then_fetch"


@pytest.mark.parametrize(
    ("way", "request_", "field"),
    [
        ("words", ("/ses-papers-words/_mget?filter_path=docs._id,docs._source", {"ids": Parameter("terms")},
                   "The vectors of the words"), ""),
        ("service", ("/v1/encode", {"texts": [WORDS], "format": "qry", "index": "papers"},
                     "The vector of the words"), ""),
        ("feedback", (BY_WORDS, FIRST, "The first papers by words, with their vectors"), "vector_prx"),
        ("table", None, ""),
    ],
)  # fmt: skip
def test_what_a_program_asks_first(way, request_, field):
    asked = HttpRequest("POST", *request_) if request_ else None
    assert query_vector(index_with(SCHEMA), way, PLAN, REQUEST, 3) == QueryVector(way, asked, field)


OWNERS = ForeignField("emb", "emb", 3, "cosine", "paper", "none", "other", "g", True, "")
PASSAGES = replace(SCHEMA, vectors=(replace(SCHEMA.vectors[0], unit="passage"),))


@pytest.mark.parametrize(
    ("index", "plan"),
    [(index_with(SCHEMA), replace(PLAN, words="")), (index_with(PASSAGES), PLAN), (attached_with(beside="so"), PLAN)],
)
def test_papers_that_can_not_give_a_vector_are_told(index, plan):
    with pytest.raises(InputError, match=r"papers by words can't give a search in .* its vector; choose another"):
        query_vector(index, "feedback", plan, REQUEST, 3)
    assert query_vector(index, "table", plan, REQUEST, 3).request is None


def test_vectors_of_another_model_come_from_the_service():
    index, plan = attached_with(foreign=(OWNERS,)), replace(PLAN, vectors=(VectorClause("emb", VECTOR),))
    assert query_vector(index, "service", plan, REQUEST, 3).request.path == "/v1/encode"
    for way in ("words", "table", "feedback"):
        with pytest.raises(InputError, match="are of another model than ses's own; choose vector=service"):
            query_vector(index, way, plan, REQUEST, 3)
