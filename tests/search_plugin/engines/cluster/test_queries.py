"""Searches as a cluster takes them: words as values, windows in numbers, scores turned back."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpora.errors import InputError, UnavailableError
from search_plugin.contract.legs import Facets, Scored, Sort
from search_plugin.contract.plan import Counting, Plan, TermGroup, TermVariant, VectorClause
from search_plugin.contract.schema import IndexSchema, paper_vector
from search_plugin.contract.tree import Compare
from search_plugin.engines.cluster.dialect import TEXT, raw_closeness
from search_plugin.engines.cluster.dialects import dialect_of
from search_plugin.engines.cluster.facets import facets_body, read_facets
from search_plugin.engines.cluster.product import Product
from search_plugin.engines.cluster.queries import holding, leg_bodies, listing_body, multi_search, scored, words_query

OPENSEARCH = dialect_of(Product("opensearch", "3.6.0", (3, 6)))
ELASTICSEARCH = dialect_of(Product("elasticsearch", "9.4.3", (9, 4)))
BOTH = [OPENSEARCH, ELASTICSEARCH]
SCHEMA = IndexSchema("m", "f", (paper_vector("prx", 2, "cosine"), paper_vector("clf", 2, "l2")))
VECTOR = np.array([1, 0.5], np.float32)
PRX = VectorClause("prx", VECTOR)
IDS_ONLY = {"_source": False, "stored_fields": "_none_", "docvalue_fields": ["id"], "track_total_hits": False}
BEST_FIRST = [{"_score": "desc"}, {"id": "asc"}]
WHERE = Compare("year", ">", 2000)
RANGE = {"range": {"year": {"gt": 2000}}}


def plain(body):
    return json.loads(multi_search({"prx": body}).splitlines()[1])


def leg(plan, dialect, name="prx", quantization="none"):
    return plain(leg_bodies(plan, replace(SCHEMA, quantization=quantization), dialect)[name])


def strings(value):
    """Every string of a JSON value, keys included."""
    if isinstance(value, dict):
        return {*value, *(text for inner in value.values() for text in strings(inner))}
    if isinstance(value, list):
        return {text for inner in value for text in strings(inner)}
    return {value} if isinstance(value, str) else set()


@pytest.mark.parametrize("dialect", BOTH)
@given(words=st.text(st.characters(exclude_categories=["Cs"]), min_size=1))
def test_words_are_nothing_but_values(dialect, words):
    plan = Plan(words, (PRX,), None, 10)
    lexical = leg(plan, dialect, "lexical")
    match = {"match": {"title_abstract": {"query": words}}}
    title = {"match": {"title": {"query": words, "boost": 0.3}}}
    assert lexical == {
        "query": {"bool": {"should": [match, title], "minimum_should_match": 1}},
        "size": 10,
        "sort": BEST_FIRST,
        **IDS_ONLY,
    }
    assert strings(leg(plan, dialect)) == strings(leg(replace(plan, words="other"), dialect))
    counted = facets_body(Counting(plan, ["p1"], ["venue"], 3), SCHEMA, OPENSEARCH)["query"]
    assert counted["bool"]["filter"][0]["bool"]["should"] == [{"terms": {"id": ["p1"]}}, match]


def test_spellings_are_searched_beside_the_typed_words():
    group = TermGroup("TNF\u03b1", (TermVariant("tnf alpha"), TermVariant("tumor necrosis factor", 0.5)))
    plan = Plan("TNF\u03b1 mice", (), None, 10, plain="mice", groups=(group,))
    best = [
        {"match": {"title": {"query": "TNF\u03b1", "boost": 0.3}}},
        {"match_phrase": {"title": {"query": "tnf alpha", "boost": 0.3}}},
        {"match_phrase": {"title": {"query": "tumor necrosis factor", "boost": 0.15}}},
    ]
    mice = {"match": {"title": {"query": "mice", "boost": 0.3}}}
    assert clauses(plan)[2:] == [mice, {"dis_max": {"queries": best}}]
    assert clauses(replace(plan, plain=""))[1:] == [{"dis_max": {"queries": best}}]
    added = {"match_phrase": {"title": {"query": "cats", "boost": 0.06}}}
    assert clauses(replace(plan, added=(TermVariant("cats", 0.2),)))[3:] == [
        mice,
        {"dis_max": {"queries": best}},
        added,
    ]
    assert len(clauses(replace(plan, title_boost=0.0))) == 2


def clauses(plan):
    (words,) = words_query(plan, None).values()
    return words["should"]


def test_a_paper_is_counted_that_holds_a_word_in_any_spelling():
    group = TermGroup("TNF\u03b1", (TermVariant("tnf alpha"),))
    plan = Plan("TNF\u03b1 mice", (), None, 10, plain="mice", groups=(group,))
    mice, phrase = {"match": {TEXT: {"query": "mice"}}}, {"match_phrase": {TEXT: {"query": "tnf alpha", "boost": 1.0}}}
    best = {"dis_max": {"queries": [{"match": {TEXT: {"query": "TNF\u03b1"}}}, phrase]}}
    assert holding(plan, TEXT) == {"bool": {"should": [mice, best]}}
    assert holding(replace(plan, plain=""), TEXT) == best
    assert holding(replace(plan, groups=()), TEXT) == mice


@pytest.mark.parametrize("dialect", BOTH)
def test_every_leg_brings_the_column_that_the_plan_names(dialect):
    plan = Plan("virus", (PRX,), None, 10, column="venue")
    for name in plan.legs:
        assert leg(plan, dialect, name)["docvalue_fields"] == ["id", "venue"]


@given(text=st.text(min_size=1))
def test_lines_hold_one_search_each(text):
    text = text.encode("utf-8", "replace").decode()
    lines = multi_search({"lexical": {"query": text}, "prx": {}}).split(b"\n")
    assert [json.loads(line) for line in lines[:-1]] == [
        {"allow_partial_search_results": False, "search_type": "dfs_query_then_fetch"},
        {"query": text},
        {"allow_partial_search_results": False},
        {},
    ]
    assert lines[-1] == b""


@pytest.mark.parametrize(
    ("quantization", "window", "found", "candidates"),
    [
        ("none", 1, 1, 500),
        ("none", 250, 250, 500),
        ("none", 251, 251, 502),
        ("none", 10_000, 10_000, 10_000),
        ("int8", 100, 150, 500),
        ("int4", 100, 200, 500),
        ("1bit", 100, 400, 800),
        ("1bit", 2_501, 10_000, 10_000),
        ("1bit", 10_000, 10_000, 10_000),
    ],
)
def test_graph_searches_look_far_enough(quantization, window, found, candidates):
    plan = Plan("", (PRX,), WHERE, window)
    bodies = [leg(plan, dialect, quantization=quantization) for dialect in BOTH]
    method = {"method_parameters": {"ef_search": candidates}}
    expected = [
        {"knn": {"vector_prx": {"vector": [1, 0.5], "k": found, "filter": RANGE, **method}}},
        {
            "knn": {
                "field": "vector_prx",
                "query_vector": [1, 0.5],
                "k": found,
                "num_candidates": candidates,
                "filter": RANGE,
            }
        },
    ]
    assert [body["query"] for body in bodies] == expected
    assert {body["size"] for body in bodies} == {window}
    for body, dialect in zip(bodies, BOTH, strict=True):
        if quantization == "none":
            assert body["sort"] == BEST_FIRST
            assert "rescore" not in body
            continue
        # The whole vectors alone decide, and `sort` and `rescore` exclude each other.
        assert "sort" not in body
        rescore = {"rescore_query": dialect.similarity(SCHEMA.vector("prx"), VECTOR, None), "query_weight": 0}
        assert body["rescore"] == plain({"window_size": found, "query": rescore})


@pytest.mark.parametrize("quantization", ["none", "1bit"])
def test_exact_searches_score_every_paper(quantization):
    plan = Plan("", (PRX,), WHERE, 7, exact=True)
    for dialect, script in (
        (
            OPENSEARCH,
            {
                "lang": "knn",
                "source": "knn_score",
                "params": {"field": "vector_prx", "query_value": [1, 0.5], "space_type": "cosinesimil"},
            },
        ),
        (
            ELASTICSEARCH,
            {"source": "(1.0 + cosineSimilarity(params.vector, 'vector_prx')) / 2.0", "params": {"vector": [1, 0.5]}},
        ),
    ):
        inner = {"bool": {"filter": [{"exists": {"field": "vector_prx"}}, RANGE]}}
        body = leg(plan, dialect, quantization=quantization)
        assert body["query"] == {"script_score": {"query": inner, "script": script}}
        assert body["sort"] == BEST_FIRST
        assert body["size"] == 7
        assert "rescore" not in body


def test_a_plan_without_legs_asks_nothing():
    assert leg_bodies(Plan("", (), None, 10), SCHEMA, OPENSEARCH) == {}
    with pytest.raises(InputError, match="query's vector has 3 numbers and the index holds vectors of 2; search with"):
        leg_bodies(Plan("", (VectorClause("prx", np.ones(3, np.float32)),), None, 10), SCHEMA, OPENSEARCH)
    with pytest.raises(InputError, match="holds no rgn vectors, only: prx, clf"):
        leg_bodies(Plan("", (VectorClause("rgn", VECTOR),), None, 10), SCHEMA, OPENSEARCH)


def lucene_score(similarity, a, b):
    """What Lucene's VectorSimilarityFunction gives for two vectors."""
    if similarity == "cosine":
        return (1 + a @ b / (np.linalg.norm(a) * np.linalg.norm(b))) / 2
    if similarity == "l2":
        return 1 / (1 + float((a - b) @ (a - b)))
    dot = float(a @ b)
    return 1 / (1 - dot) if dot < 0 else dot + 1


numbers = st.lists(st.integers(-300, 300).map(lambda n: n / 16), min_size=3, max_size=3).filter(any).map(np.array)


@given(a=numbers, b=numbers)
def test_closeness_is_read_out_of_every_score(a, b):
    cosine = a @ b / (np.linalg.norm(a) * np.linalg.norm(b))
    closeness = {"cosine": cosine, "dot": a @ b, "l2": -np.linalg.norm(a - b)}
    for similarity, expected in closeness.items():
        score = lucene_score(similarity, a, b)
        assert raw_closeness(similarity, score) == pytest.approx(expected, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("similarity", ["cosine", "dot", "l2"])
def test_closeness_grows_with_the_score(similarity):
    scores = [*np.linspace(1e-6, 1, 200), *([1.5, 3, 1e6] if similarity == "dot" else [])]
    found = [raw_closeness(similarity, score) for score in scores]
    assert found == sorted(found)
    assert len(set(found)) == len(found)


def test_scores_beyond_the_formulas_are_no_error():
    assert raw_closeness("l2", 1.0000001) == 0  # a rounding of the server's
    assert raw_closeness("l2", 0) == -math.inf


def hit(id_, score):
    return {"_id": "x", "_score": score, "fields": {"id": [id_]}}


def test_hits_are_ranked_anew_ties_by_id_and_cut():
    hits = [hit("b", 0.5), hit("c", 0.75), hit("a", 0.5), hit("d", 0.25)]
    assert scored(hits, "prx", SCHEMA, 3) == [Scored("c", 0.5), Scored("a", 0.0), Scored("b", 0.0)]
    assert scored(hits, "lexical", SCHEMA, 9)[-1] == Scored("d", 0.25)
    valued = {**hit("a", 0.2), "fields": {"id": ["a"], "venue": ["Cell"]}}
    assert scored([valued, hit("b", 0.1)], "lexical", SCHEMA, 9, "venue") == [
        Scored("a", 0.2, "Cell"),
        Scored("b", 0.1, None),
    ]
    assert scored([hit("a", 0.2)], "clf", SCHEMA, 9) == [Scored("a", -2.0)]
    with pytest.raises(UnavailableError, match="a document x that ses did not write"):
        scored([{"_id": "x", "_score": 1}], "prx", SCHEMA, 9)


@pytest.mark.parametrize("where", [None, WHERE])
def test_a_listing_counts_all_and_brings_ids_in_order(where):
    body = listing_body(where, Sort("year", descending=True), 30, SCHEMA, OPENSEARCH)
    assert body["query"]["bool"]["filter"] == [RANGE if where else {"match_all": {}}]
    assert body["sort"] == [{"year": {"order": "desc", "missing": "_last"}}, {"id": "asc"}]
    assert (body["size"], body["track_total_hits"], body["_source"]) == (30, True, False)
    assert body["docvalue_fields"] == ["id"]
    title = listing_body(where, Sort("title"), 0, SCHEMA, OPENSEARCH)["sort"][0]
    assert title == {"title_order": {"order": "asc", "missing": "_last"}}
    counting = Counting(Plan("", (), where, 5, order=Sort("year")), ["p1"], ["venue"], 3)
    counted = facets_body(counting, SCHEMA, OPENSEARCH)["query"]["bool"]["filter"]
    assert counted == [RANGE if where else {"match_all": {}}]


def test_facets_ask_for_spare_values_and_show_no_empty_ones():
    plan = Plan("virus", (PRX,), WHERE, 50)
    counting = Counting(plan, ["p1", "p2"], ["venue", "year"], 2)
    body = facets_body(counting, SCHEMA, OPENSEARCH)
    match = {"bool": {"must": [{"match": {"title_abstract": {"query": "virus"}}}], "filter": [RANGE]}}
    anyhow = {"bool": {"should": [{"terms": {"id": ["p1", "p2"]}}, match], "minimum_should_match": 1}}
    assert body["query"] == {"bool": {"filter": [anyhow]}}
    assert (body["size"], body["track_total_hits"]) == (0, True)
    assert body["aggs"]["venue"]["terms"]["size"] == 3
    assert body["aggs"]["venue"]["terms"]["shard_size"] >= 50
    buckets = [{"key": "", "doc_count": 9}, {"key": "a", "doc_count": 3}, {"key": "b", "doc_count": 1}]
    reply = {
        "hits": {"total": {"value": 12}},
        "aggregations": {"venue": {"buckets": buckets}, "year": {"buckets": [{"key": 2001, "doc_count": 4}] * 3}},
    }
    assert read_facets(reply, counting, SCHEMA) == Facets(
        12,
        "papers that hold a word of the query, and the 50 nearest papers",
        {"venue": (("a", 3), ("b", 1)), "year": ((2001, 4), (2001, 4))},
    )
    empty = Counting(Plan("", (PRX,), None, 50), [], [], 2)
    assert read_facets(reply, empty, SCHEMA).counted == "the 50 nearest papers"
