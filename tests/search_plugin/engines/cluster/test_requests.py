"""The requests of a page as other programs send them again, and how Elasticsearch's free licence joins legs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from search_plugin.contract.plan import Counting, Plan, VectorClause
from search_plugin.contract.schema import IndexSchema, paper_vector
from search_plugin.contract.trace import recorded
from search_plugin.engines.cluster.frontends.http import HttpRequest, Parameter
from search_plugin.engines.cluster.frontends.page_request import page_request
from search_plugin.engines.cluster.frontends.recorded_requests import leg_requests, opened_for, papers_request
from search_plugin.request import SearchRequest
from tests.search_plugin.engines.cluster.conversations import attached_with, found, several
from tests.search_plugin.engines.cluster.test_joining import FILTER, LEGS, PLAN, VECTOR, hits, index_in
from tests.search_plugin.engines.cluster.test_pages import BOTH, counted, read, replies

WHOLE = {"allow_partial_search_results": False}
IDS_ALONE = {
    "_source": False,
    "docvalue_fields": ["id"],
    "stored_fields": "_none_",
    "track_total_hits": False,
    "size": 7,
    "sort": [{"_score": "desc"}, {"id": "asc"}],
}
MARKED = {
    "encoder": "html",
    "require_field_match": False,
    "highlight_query": {"match": {"title_abstract": {"query": "virus lung"}}},
    "fields": {"title": {"number_of_fragments": 0}, "abstract": {}},
}


def by_words(words):
    texts = [{"match": {"title_abstract": {"query": words}}}, {"match": {"title": {"query": words, "boost": 0.3}}}]
    return {"query": {"bool": {"filter": [FILTER], "should": texts, "minimum_should_match": 1}}, **IDS_ALONE}


def by_vector(kind, vector):
    near = {"k": 7, "filter": FILTER}
    if kind == "opensearch":
        near = {"vector_prx": {**near, "vector": vector, "method_parameters": {"ef_search": 500}}}
    else:
        near |= {"field": "vector_prx", "query_vector": vector, "num_candidates": 500}
    return {"query": {"knn": near}, **IDS_ALONE}


@BOTH
def test_the_legs_are_sent_again_with_the_words_and_the_vector_left_open(kind, version):
    index = index_in(kind, version, LEGS)
    with recorded() as sent:
        index.search(PLAN)
    (asked,), legs = leg_requests(sent, index, PLAN)
    words = {**WHOLE, "search_type": "dfs_query_then_fetch"}
    lines = (words, by_words("virus lung"), WHOLE, by_vector(kind, VECTOR.tolist()))
    assert asked == HttpRequest("POST", "/papers/_msearch", lines, "The legs: ids and scores")
    assert legs == ["lexical", "prx"]
    values = {"words": "virus lung", "vector": VECTOR.tolist()}
    open_vector = by_vector(kind, Parameter("vector"))
    opened = (words, by_words(Parameter("words", "text")), WHOLE, open_vector)
    assert opened_for(asked, values, words=True) == replace(asked, body=opened)
    assert opened_for(asked, values, words=False).body == (*lines[:3], open_vector)
    assert opened_for(asked, {"words": "virus lung"}, words=False) == asked
    one = HttpRequest("GET", "/papers/_search", {"query": by_vector(kind, VECTOR), "size": 3}, "the page")
    assert opened_for(one, values, words=True) == replace(one, body={"query": open_vector, "size": 3})


@BOTH
def test_the_papers_and_counts_are_sent_again_with_the_ids_left_open(kind, version):
    index = index_in(kind, version, replies(read("c", "a"), counted(7, venue=[("Cell", 4)])))
    counting = Counting(PLAN, ["c", "a", "b"], ["venue"], 5)
    with recorded() as sent:
        index.fetch(["c", "a"], counting)
    request = SearchRequest("virus lung", facets=("journal",), size=4)
    asked = papers_request(sent, index, request, counting, ["c", "a"])
    by_ids, papers, by_counts, counts = asked.body
    assert (asked.method, asked.path, asked.why) == (
        "POST", "/papers/_msearch", "The papers of the page, and its counts"
    )  # fmt: skip
    assert (by_ids, by_counts) == (WHOLE, WHOLE)
    assert {"id", "title", "abstract", "origins"} <= set(papers.pop("_source"))
    assert papers == {
        "query": {"terms": {"id": Parameter("ids")}},
        "size": 4,
        "sort": ["_doc"],
        "docvalue_fields": ["id"],
        "highlight": MARKED,
    }
    matching = {"must": [{"match": {"title_abstract": {"query": "virus lung"}}}], "filter": [FILTER]}
    either = [{"terms": {"id": Parameter("found")}}, {"bool": matching}]
    order = [{"_count": "desc"}, {"_key": "asc"}]
    assert counts == {
        "query": {"bool": {"filter": [{"bool": {"should": either, "minimum_should_match": 1}}]}},
        "size": 0,
        "track_total_hits": True,
        "aggs": {"journal": {"terms": {"field": "venue", "size": 6, "shard_size": 105, "order": order}}},
    }


def test_papers_of_somebody_else_have_their_ids_as_those_of_the_hits():
    index = attached_with(several(read("c", "a"), counted(2)))
    counting = Counting(PLAN, ["c", "a"], [], 5)
    with recorded() as sent:
        index.fetch(["c", "a"], counting)
    asked = papers_request(sent, index, SearchRequest("virus lung", size=2), counting, ["c", "a"])
    _, papers, _, counts = asked.body
    assert asked.path == "/shelves/_msearch"
    title = {"exists": {"field": "headline"}}
    assert papers["query"] == {"bool": {"must": [{"ids": {"values": Parameter("ids")}}], "filter": [title]}}
    assert list(papers["highlight"]["fields"]) == ["headline", "summary"]
    assert papers["docvalue_fields"] == [{"field": "issued", "format": "yyyy-MM-dd"}]
    assert counts["aggs"] == {}


def test_legs_are_told_in_the_order_of_the_replies():
    plan = replace(PLAN, vectors=(VectorClause("clf", VECTOR), *PLAN.vectors))
    index = index_in("opensearch", (3, 6), (200, {"responses": [*LEGS[1]["responses"], {**hits(a=1.0)}]}))
    with recorded() as sent:
        index.search(plan)
    assert leg_requests(sent, index, plan)[1] == ["lexical", "clf", "prx"]


def test_legs_in_two_indexes_are_two_requests():
    one_leg, words = several(hits(a=0.9, c=0.8)), several(found({"_id": "a", "_score": 2.0}))
    index = attached_with(one_leg, found({"_id": "a"}), words, beside="you asked for it")
    with recorded() as sent:
        searched = index.search(PLAN)
    requests, legs = leg_requests(sent, index, PLAN)
    assert [one.path for one in requests] == ["/ses.attached.catalogue.v1/_msearch", "/shelves/_msearch"]
    assert legs == ["prx", "lexical"]
    assert [hit.id for hit in searched["prx"]] == ["a"]


@pytest.mark.parametrize(
    ("similarity", "scaled"),
    [
        ("cosine", "params.weight * Math.max(0, 2 * _score - 1)"),
        ("dot", "params.weight * Math.min(1, Math.max(0, _score - 1))"),
        ("l2", "params.weight * _score"),
    ],
)
def test_scores_are_brought_between_0_and_1_before_they_are_summed_scores(similarity, scaled):
    schema = IndexSchema("tiny", "f", (paper_vector("prx", 3, similarity),))
    index = index_in("elasticsearch", (9, 4), schema=schema)
    request = SearchRequest("virus lung", weights={"lexical": 3.0, "prx": 1.0})
    query = page_request(index, PLAN, request).body["query"]
    words, near = query["bool"].pop("should")
    assert query == {"bool": {}}
    saturated = {
        "source": "params.weight * _score / (_score + params.pivot)",
        "params": {"weight": 0.75, "pivot": 10.0},
    }
    assert words["script_score"]["script"] == saturated
    assert words["script_score"]["query"] == by_words("virus lung")["query"]
    assert near["script_score"]["script"] == {"source": scaled, "params": {"weight": 0.25}}
    assert near["script_score"]["query"]["knn"]["field"] == "vector_prx"


def test_without_words_only_vectors_are_summed_scores():
    vectors = (VectorClause("prx", VECTOR), VectorClause("clf", np.ones(3, np.float32)))
    query = page_request(index_in("elasticsearch", (9, 4)), Plan("", vectors, None, 7), SearchRequest("")).body["query"]
    scripts = [part["script_score"]["script"] for part in query["bool"]["should"]]
    assert ["pivot" in one["params"] for one in scripts] == [False, False]
    assert [one["params"]["weight"] for one in scripts] == [0.5, 0.5]
