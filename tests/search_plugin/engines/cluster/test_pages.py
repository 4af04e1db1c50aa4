"""Which requests a page of a cluster makes: from answers as a cluster gives them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from search_plugin.contract.plan import Plan
from search_plugin.contract.trace import Clock
from search_plugin.engines.cluster.frontends.page_request import page_request
from search_plugin.ranking.state import SearchState
from search_plugin.request import SearchRequest
from search_plugin.search import _page, similar
from tests.search_plugin.engines.cluster.test_joining import LEGS, PLAN, SHARDS, hits, index_in


def read(*ids, **more):
    found = [{"_id": id_, "_source": {"id": id_, "title": f"virus {id_}", "abstract": "", **more}} for id_ in ids]
    return {"timed_out": False, "_shards": SHARDS, "hits": {"hits": found}, "status": 200}


def counted(total, **buckets):
    counts = {name: {"buckets": [{"key": k, "doc_count": n} for k, n in found]} for name, found in buckets.items()}
    return {"_shards": SHARDS, "hits": {"total": {"value": total}, "hits": []}, "aggregations": counts, "status": 200}


def replies(*parts):
    return 200, {"responses": list(parts)}


BOTH = pytest.mark.parametrize(("kind", "version"), [("opensearch", (3, 6)), ("elasticsearch", (9, 4))])


@BOTH
def test_a_page_asks_twice_for_the_legs_and_for_what_it_shows(kind, version):
    index = index_in(kind, version, LEGS, replies(read("c", "a", "b"), counted(7, venue=[("Cell", 4)])))
    request = SearchRequest("virus lung", facets=("journal",), collapse="year", neighbours=0)
    page = _page(SearchState(index, request, replace(PLAN, column="year")), Clock())
    assert [hit.paper.id for hit in page.hits] == ["a", "b", "c"]
    assert (page.facets.matches, page.facets.counts) == (7, {"journal": (("Cell", 4),)})
    legs, shown = index.cluster.asked
    assert [path for _, path, _, _ in (legs, shown)] == ["/ses.papers.v1/_msearch"] * 2
    assert [body["docvalue_fields"] for body in legs[3][1::2]] == [["id", "year"]] * 2
    papers, facets = shown[3][1::2]
    assert papers["query"] == {"terms": {"id": ["a", "b", "c"]}}
    assert (papers["size"], facets["size"]) == (3, 0)
    assert all(not header["allow_partial_search_results"] for header in legs[3][::2] + shown[3][::2])
    assert page.requests == {
        "retrieve": ("POST /ses.papers.v1/_msearch for the legs lexical, prx",),
        "render": ("POST /ses.papers.v1/_msearch for papers and facets",),
    }


@BOTH
def test_neighbours_take_one_request_more_for_the_vectors_of_the_best_papers(kind, version):
    rows = {"a": [1.0, 0.0], "b": [0.0, 1.0], "c": [0.8, 0.6]}
    found = [{"_id": id_, "fields": {"id": [id_], "vector_prx": row}} for id_, row in rows.items()]
    vectors = {"timed_out": False, "_shards": SHARDS, "hits": {"hits": found}}
    index = index_in(kind, version, LEGS, (200, vectors), replies(read("c", "a", "b")))
    page = _page(SearchState(index, SearchRequest("virus lung"), PLAN), Clock())
    assert {hit.id for hit in page.hits} == {"a", "b", "c"}
    assert all("neighbours" in hit.legs for hit in page.hits)
    assert list(page.requests) == ["retrieve", "neighbours", "render"]
    _, asked, _ = index.cluster.asked
    assert asked[1] == "/ses.papers.v1/_search"
    assert (asked[3]["_source"], asked[3]["fields"]) == (False, ["id", "vector_prx"])


@BOTH
def test_what_is_not_shown_is_not_asked_for(kind, version):
    none = {"timed_out": False, "_shards": SHARDS, "hits": {"hits": []}, "status": 200}
    index = index_in(kind, version, replies(none))
    plan = Plan("virus", (), None, 7)
    page = _page(SearchState(index, SearchRequest("virus", mode="lexical"), plan), Clock())
    assert (page.hits, page.facets, list(page.requests)) == ((), None, ["retrieve"])
    index = index_in(kind, version, replies(none), replies(counted(0, venue=[])))
    page = _page(SearchState(index, SearchRequest("virus", mode="lexical", facets=("venue",)), plan), Clock())
    assert page.facets.matches == 0
    assert page.requests["render"] == ("POST /ses.papers.v1/_msearch for facets",)


@BOTH
def test_similar_papers_take_one_request_more_for_the_paper_and_its_vector(kind, version):
    known = read("a", content_hash="h")
    vectors = {**hits(a=0.0), "status": 200}
    vectors["hits"]["hits"][0]["fields"]["vector_prx"] = [1.0, 0.0, 0.5]
    index = index_in(kind, version, replies(known, vectors), replies(LEGS[1]["responses"][1]), replies(read("c", "a")))
    page = similar(index, "a")
    assert [hit.paper.id for hit in page.hits] == ["a", "c"]
    first, legs, shown = index.cluster.asked
    papers, vectors = first[3][1::2]
    assert {"id", "title", "abstract", "content_hash"} <= set(papers["_source"])
    assert vectors["fields"] == ["id", "vector_prx"]
    assert [path for _, path, _, _ in (first, legs, shown)] == ["/ses.papers.v1/_msearch"] * 3
    assert page.requests["read"] == ("POST /ses.papers.v1/_msearch for papers with vectors",)


@BOTH
def test_words_that_a_paper_holds_are_asked_for_once(kind, version):
    def counts(*found):
        return replies(*(counted(count) | {"status": 200} for count in found))

    index = index_in(kind, version, counts(3, 0, 7), counts(1, 2))
    assert index.document_frequencies(["virus", "viurs", "lung"]) == {"virus": 3, "viurs": 0, "lung": 7}
    assert index.document_frequencies(["lung", "virus"]) == {"lung": 7, "virus": 3}
    # A paper may have come that holds it.
    assert index.document_frequencies(["viurs", "lung", "mask"]) == {"viurs": 1, "lung": 7, "mask": 2}
    first, second = (body[1::2] for _, _, _, body in index.cluster.asked)
    assert [one["query"]["match"]["title_abstract"]["query"] for one in first] == ["virus", "viurs", "lung"]
    assert [one["query"]["match"]["title_abstract"]["query"] for one in second] == ["viurs", "mask"]


def test_answers_are_remembered_unless_they_are_empty():
    index = index_in("opensearch", (3, 6))
    assert [index.cached("MS", lambda one=one: one) for one in ("", "multiple sclerosis", "")] == [
        "",
        "multiple sclerosis",
        "multiple sclerosis",
    ]


def test_a_page_larger_than_one_look_up_is_read_whole():
    ids = [f"p{number:04}" for number in range(1_500)]
    index = index_in("opensearch", (3, 6), replies(read(*ids[:1_000])), (200, read(*ids[1_000:])))
    papers, facets = index.fetch(ids)
    assert (list(papers), facets) == (ids, None)
    assert index.fetch([]) == ({}, None)
    assert len(index.cluster.asked) == 2


def test_the_request_of_a_page_joins_as_many_hits_as_ses_would():
    body = page_request(index_in("opensearch", (3, 6)), PLAN, SearchRequest("virus lung", size=3, offset=2)).body
    assert body["query"]["hybrid"]["pagination_depth"] == PLAN.window == 7
    assert len(body["query"]["hybrid"]["queries"]) == 2
    assert (body["size"], body["from"]) == (3, 2)


@BOTH
@pytest.mark.parametrize(
    ("plan", "kind_of_search"),
    [(replace(PLAN, vectors=()), "&search_type=dfs_query_then_fetch"), (PLAN, ""), (replace(PLAN, words=""), "")],
)
def test_a_search_by_words_alone_in_one_request_scores_alike_on_all_shards(kind, version, plan, kind_of_search):
    asked = page_request(index_in(kind, version), plan, SearchRequest("virus lung", size=3, offset=4))
    assert (asked.method, asked.path.partition("?")[2]) == (
        "POST",
        f"allow_partial_search_results=false{kind_of_search}",
    )
    assert ("highlight" in asked.body) == bool(plan.words)
    assert (asked.body["from"], asked.body["size"]) == (4, 3)
    assert asked.body["track_total_hits"] == (not plan.vectors)
