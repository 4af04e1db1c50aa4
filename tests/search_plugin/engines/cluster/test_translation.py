"""Searches in the names of ses as searches of somebody else's index, and the replies back."""

from __future__ import annotations

import pytest

from corpora.errors import InputError
from search_plugin.contract.schema import ForeignField
from search_plugin.engines.cluster.attached.field_mappings import FieldMapping
from search_plugin.engines.cluster.attached.translation import Translation
from search_plugin.engines.cluster.dialect import enclosed
from tests.search_plugin.engines.cluster.conversations import PLACES

OWN = ForeignField("emb", "emb", 3, "cosine", "paper", "none", "tiny", "f", True, "")
PASSAGES = ForeignField("parts.emb", "parts.emb", 3, "cosine", "passage", "none", "tiny", "f", True, "parts")
THERE = Translation(PLACES, "ses.hash", (OWN, PASSAGES))
HAS_TITLE = {"exists": {"field": "headline"}}
HAS_EMB = {"exists": {"field": "emb"}}
EVERY = {"query": {"bool": {"must": [{"match_all": {}}], "filter": [HAS_TITLE]}}}
TEXTS = ["headline", "summary"]
NOTHING = {"match_none": {}}
CELL, EXACT = {"term": {"venue": "Cell"}}, {"term": {"journal.exact": "Cell"}}


def any_of(*queries):
    return {"bool": {"should": [*queries], "minimum_should_match": 1}}


def equal(path, value):
    return {"term": {path: {"value": value, "case_insensitive": True}}}


def days(first, last):
    return {"range": {"issued": {"gte": first, "lte": last, "format": "yyyy-MM-dd"}}}


DOI = (
    equal("doi_s", "10.1/x"),
    equal("doi_s", "doi:10.1/x"),
    equal("doi_s", "https://doi.org/10.1/x"),
    equal("doi_s", "http://dx.doi.org/10.1/x"),
)
QUERIES = (
    ({"match_all": {}}, {"match_all": {}}),
    (CELL, EXACT),
    ({"terms": {"shelf": [1, 2]}}, {"terms": {"shelf": [1, 2]}}),
    ({"prefix": {"venue": {"value": "C"}}}, {"prefix": {"journal.exact": {"value": "C"}}}),
    ({"range": {"shelf": {"gt": 3}}}, {"range": {"shelf": {"gt": 3}}}),
    ({"exists": {"field": "venue"}}, {"exists": {"field": "journal.exact"}}),
    ({"term": {"language": "en"}}, NOTHING),
    ({"exists": {"field": "language"}}, NOTHING),
    ({"exists": {"field": "ses.prx_f"}}, {"exists": {"field": "ses.prx_f"}}),
    (HAS_EMB, HAS_EMB),
    ({"term": {"authors": "Ana"}}, {"nested": {"path": "people", "query": {"term": {"people.name.exact": "Ana"}}}}),
    (
        {"exists": {"field": "authors"}},
        {"nested": {"path": "people", "query": {"exists": {"field": "people.name.exact"}}}},
    ),
    ({"term": {"id": "a"}}, {"ids": {"values": ["a"]}}),
    ({"terms": {"id": ("a", "b")}}, {"ids": {"values": ["a", "b"]}}),
    ({"exists": {"field": "id"}}, {"match_all": {}}),
    ({"term": {"year": 2020}}, any_of(days("2020-01-01", "2020-12-31"))),
    ({"terms": {"year": [2019, 2021]}}, any_of(days("2019-01-01", "2019-12-31"), days("2021-01-01", "2021-12-31"))),
    (
        {"range": {"year": {"gt": 2019, "lt": 2021}}},
        {"range": {"issued": {"gt": "2019-12-31", "lt": "2021-01-01", "format": "yyyy-MM-dd"}}},
    ),
    ({"term": {"identifiers": "DOI:10.1/X"}}, any_of(*DOI)),
    ({"terms": {"identifiers": ["doi:10.1/x", "pmid:7"]}}, any_of(*DOI)),
    ({"term": {"identifiers": "pmid:7"}}, NOTHING),
    ({"exists": {"field": "identifiers"}}, any_of({"exists": {"field": "doi_s"}})),
    (
        {"match": {"title_abstract": {"query": "virus", "operator": "and"}}},
        {"multi_match": {"query": "virus", "operator": "and", "fields": TEXTS, "type": "most_fields"}},
    ),
    (
        {"match_phrase": {"title_abstract": {"query": "a virus"}}},
        {"multi_match": {"query": "a virus", "fields": TEXTS, "type": "phrase"}},
    ),
    (
        {"fuzzy": {"title_abstract": {"value": "viurs"}}},
        any_of(*({"fuzzy": {path: {"value": "viurs"}}} for path in TEXTS)),
    ),
    (
        {"intervals": {"title_abstract": {"match": {"query": "a"}}}},
        any_of(*({"intervals": {path: {"match": {"query": "a"}}}} for path in TEXTS)),
    ),
    ({"match": {"title": {"query": "virus", "boost": 0.3}}}, {"match": {"headline": {"query": "virus", "boost": 0.3}}}),
    (
        {"bool": {"should": [CELL], "must_not": [{"term": {"id": "a"}}], "boost": 2}},
        {"bool": {"should": [EXACT], "must_not": [{"ids": {"values": ["a"]}}], "boost": 2}},
    ),
    (
        {"dis_max": {"queries": [CELL, {"match_all": {}}], "tie_breaker": 0.5}},
        {"dis_max": {"queries": [EXACT, {"match_all": {}}], "tie_breaker": 0.5}},
    ),
    (
        {"script_score": {"query": CELL, "script": {"source": "1"}}},
        {"script_score": {"query": EXACT, "script": {"source": "1"}}},
    ),
    (
        {"nested": {"path": "parts", "query": CELL, "score_mode": "max"}},
        {"nested": {"path": "parts", "query": EXACT, "score_mode": "max"}},
    ),
    (enclosed(CELL), enclosed(EXACT)),
    # As OpenSearch writes it, and Elasticsearch. An owner's vector may be of a document without a title.
    (
        {"knn": {"ses.prx_f": {"vector": [1], "k": 3, "filter": CELL}}},
        {"knn": {"ses.prx_f": {"vector": [1], "k": 3, "filter": EXACT}}},
    ),
    ({"knn": {"field": "ses.prx_f", "k": 3}}, {"knn": {"field": "ses.prx_f", "k": 3}}),
    (
        {"knn": {"field": "emb", "k": 3, "filter": CELL}},
        {"knn": {"field": "emb", "k": 3, "filter": {"bool": {"filter": [EXACT, HAS_TITLE, HAS_EMB]}}}},
    ),
    (
        {"knn": {"emb": {"vector": [1], "k": 3}}},
        {"knn": {"emb": {"vector": [1], "k": 3, "filter": {"bool": {"filter": [HAS_TITLE, HAS_EMB]}}}}},
    ),
    ({"knn": {"field": "parts.emb", "k": 3}}, {"knn": {"field": "parts.emb", "k": 3}}),
)


@pytest.mark.parametrize(("query", "there"), QUERIES, ids=lambda one: str(one)[:40])
def test_queries(query, there):
    assert THERE.query(query) == there


def test_identifiers_of_other_kinds_and_in_one_field():
    field_mappings = (
        *PLACES[:1],
        FieldMapping("pmc", "pmc_s", "pmc_s", "keywords"),
        FieldMapping("identifiers", "all", "all", "keywords"),
    )
    asked = Translation(field_mappings).query({"term": {"identifiers": "PMC:PMC12"}})
    assert asked == any_of(equal("all", "PMC:PMC12"), equal("pmc_s", "pmc12"), equal("pmc_s", "12"))
    bare = Translation(PLACES[:1])
    assert bare.query({"term": {"identifiers": "doi:10.1/x"}}) == NOTHING
    assert bare.query({"match": {"title_abstract": {"query": "a"}}})["multi_match"]["fields"] == ["headline"]


ORDER = [{"_count": "desc"}, {"_key": "asc"}]
BODIES = (
    ({}, EVERY),
    (
        {
            "query": CELL,
            "size": 3,
            "_source": False,
            "stored_fields": "_none_",
            "docvalue_fields": ["id"],
            "sort": [{"_score": "desc"}, {"id": "asc"}, "_doc"],
            "fields": ["id", "ses.prx_f"],
        },
        {
            "query": {"bool": {"must": [EXACT], "filter": [HAS_TITLE]}},
            "size": 3,
            "_source": False,
            "sort": [{"_score": "desc"}, "_doc", "_doc"],
            "fields": ["ses.prx_f"],
        },
    ),
    (
        {"query": {"hybrid": {"queries": [{"match_all": {}}, CELL], "pagination_depth": 7}}},
        {
            "query": {
                "hybrid": {
                    "queries": [
                        {"bool": {"must": [{"match_all": {}}], "filter": [HAS_TITLE]}},
                        {"bool": {"must": [EXACT], "filter": [HAS_TITLE]}},
                    ],
                    "pagination_depth": 7,
                }
            }
        },
    ),
    (
        {"query": {"match_all": {}}, "_source": ["venue", "identifiers", "content_hash"]},
        {**EVERY, "_source": ["doi_s", "headline", "journal", "ses.hash"]},
    ),
    ({"query": {"match_all": {}}, "_source": {"excludes": ["ses"]}}, {**EVERY, "_source": {"excludes": ["ses"]}}),
    (
        {"query": {"match_all": {}}, "_source": False, "docvalue_fields": ["id", "year"]},
        {**EVERY, "_source": ["headline", "issued"], "docvalue_fields": [{"field": "issued", "format": "yyyy-MM-dd"}]},
    ),
    (
        {"sort": [{"year": {"order": "desc"}}, {"authors": {"order": "asc"}}, {"shelf": {"order": "asc"}}]},
        {
            **EVERY,
            "sort": [
                {"issued": {"order": "desc", "unmapped_type": "date"}},
                {"people.name.exact": {"order": "asc", "nested": {"path": "people"}, "unmapped_type": "double"}},
                {"shelf": {"order": "asc", "unmapped_type": "double"}},
            ],
        },
    ),
    (
        {"highlight": {"encoder": "html", "highlight_query": CELL, "fields": {"title": {"n": 0}, "references": {}}}},
        {**EVERY, "highlight": {"encoder": "html", "highlight_query": EXACT, "fields": {"headline": {"n": 0}}}},
    ),
    (
        {
            "size": 0,
            "aggs": {
                "venue": {"terms": {"field": "venue", "size": 5, "order": ORDER}},
                "year": {"terms": {"field": "year", "size": 5, "order": ORDER}},
                "authors": {"terms": {"field": "authors", "size": 5, "order": ORDER}},
                "language": {"terms": {"field": "language", "size": 5, "order": ORDER}},
                "all": {
                    "global": {},
                    "aggs": {
                        "matches": {"filter": {"term": {"shelf": 1}}, "aggs": {"shelf": {"terms": {"field": "shelf"}}}}
                    },
                },
            },
        },
        {
            **EVERY,
            "size": 0,
            "aggs": {
                "venue": {"terms": {"field": "journal.exact", "size": 5, "order": ORDER}},
                "year": {
                    "date_histogram": {
                        "field": "issued",
                        "calendar_interval": "year",
                        "format": "yyyy",
                        "min_doc_count": 1,
                        "order": ORDER,
                    }
                },
                "authors": {
                    "nested": {"path": "people"},
                    "aggs": {
                        "values": {
                            "terms": {"field": "people.name.exact", "size": 5, "order": ORDER},
                            "aggs": {"papers": {"reverse_nested": {}}},
                        }
                    },
                },
                "language": {"filter": NOTHING},
                "all": {
                    "global": {},
                    "aggs": {
                        "matches": {
                            "filter": {"bool": {"must": [{"term": {"shelf": 1}}], "filter": [HAS_TITLE]}},
                            "aggs": {"shelf": {"terms": {"field": "shelf"}}},
                        }
                    },
                },
            },
        },
    ),
)


@pytest.mark.parametrize(("body", "there"), BODIES, ids=lambda one: str(one)[:40])
def test_bodies(body, there):
    assert THERE.body(body) == there


def test_an_index_without_years_or_titles_in_order():
    bare = Translation(PLACES[:1])
    assert bare.body({"sort": [{"year": "desc"}]})["sort"] == ["_doc"]
    assert bare.body({"_source": ["content_hash"]})["_source"] == ["headline"]
    with pytest.raises(InputError, match="keeps no order of titles; sort by a field of numbers or dates"):
        bare.body({"sort": [{"title_order": "asc"}]})


def replied(body, hits, **more):
    return THERE.reply(body, {"took": 1, "hits": {"total": 9, "hits": hits}, **more})


def test_hits_have_the_names_of_ses_and_no_paper_is_left_out():
    source = {"headline": ["A title"], "journal": "Cell", "doi_s": "https://doi.org/10.1/X", "ses": {"hash": "h"}}
    hits = [
        {"_id": "a", "_score": 2.0, "_source": source, "fields": {"issued": ["2020-05-06"]}},
        {"_id": "b", "_score": 1.0, "_source": {"summary": "No title"}},
    ]
    whole = replied({"_source": ["id", "title", "content_hash"]}, hits)
    assert (whole["took"], whole["hits"]["total"]) == (1, 9)
    (paper,) = whole["hits"]["hits"]
    assert (paper["_score"], paper["fields"]) == (2.0, {"id": ["a"]})
    assert paper["_source"] == {
        "id": "a", "title": "A title", "year": 2020, "venue": "Cell",
        "identifiers": ["doi:10.1/x"], "content_hash": "h",
    }  # fmt: skip
    columns = replied({"_source": False, "docvalue_fields": ["id", "year", "venue", "language"]}, hits)["hits"]["hits"]
    assert [hit["fields"] for hit in columns] == [{"id": ["a"], "year": [2020], "venue": ["Cell"]}, {"id": ["b"]}]
    alone = replied({"_source": False, "docvalue_fields": ["id"], "fields": ["emb", "ses.prx_f"]}, [
        {"_id": "a", "fields": {"emb": [1, 0], "other": [3]}}
    ])["hits"]["hits"]  # fmt: skip
    assert alone == [{"_id": "a", "fields": {"id": ["a"], "emb": [1, 0]}}]
    assert replied({"_source": ["title"]}, [])["hits"]["hits"] == []


def test_counts_have_years_as_numbers_and_papers_in_place_of_objects():
    def terms(name):
        return {"terms": {"field": name}}

    body = {"aggs": {name: terms(name) for name in ("venue", "year", "authors", "language")}}
    counted = {
        "venue": {"buckets": [{"key": "Cell", "doc_count": 3}]},
        "year": {"buckets": [{"key": 1577836800000, "key_as_string": "2020", "doc_count": 2}]},
        "authors": {"values": {"buckets": [{"key": "Ana", "doc_count": 5, "papers": {"doc_count": 4}}]}},
        "language": {"doc_count": 0},
    }
    found = replied(body, [], aggregations=counted)["aggregations"]
    assert {name: [(one["key"], one["doc_count"]) for one in held["buckets"]] for name, held in found.items()} == {
        "venue": [("Cell", 3)], "year": [(2020, 2)], "authors": [("Ana", 4)], "language": [],
    }  # fmt: skip
    assert replied({"aggs": {"venue": terms("venue")}}, [], aggregations={})["aggregations"] == {
        "venue": {"buckets": []}
    }
