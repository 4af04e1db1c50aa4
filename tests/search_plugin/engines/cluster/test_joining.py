"""What is asked of clusters that join legs themselves, and what is made of answers of servers that we have not."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import get_args

import numpy as np
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpora.errors import InputError, UnavailableError
from search_plugin.contract.legs import Join
from search_plugin.contract.plan import Plan, VectorClause
from search_plugin.contract.schema import IndexSchema, paper_vector
from search_plugin.engines.cluster.dialects import dialect_of
from search_plugin.engines.cluster.errors import ClusterError, failure
from search_plugin.engines.cluster.index import ClusterIndex
from search_plugin.engines.cluster.opensearch import pipeline_for, pipeline_name
from search_plugin.engines.cluster.product import Product
from search_plugin.engines.registry import connect
from search_plugin.filters.parse import parse_filter
from search_plugin.pages.page import Page
from search_plugin.ranking.stages import fuse, retrieve
from search_plugin.ranking.state import SearchState
from search_plugin.request import MAX_WINDOW, SearchRequest

SCHEMA = IndexSchema("tiny", "f", (paper_vector("prx", 3, "cosine"), paper_vector("clf", 3, "l2")))
VECTOR = np.array([1, 2, 3], np.float32)
PLAN = Plan("virus lung", (VectorClause("prx", VECTOR),), parse_filter("year>=2000"), 7)
FILTER = {"range": {"year": {"gte": 2000}}}
SHARDS = {"total": 1, "successful": 1, "skipped": 0, "failed": 0}


class Recorded:
    """A cluster that answers what was recorded, and keeps what it was asked."""

    def __init__(self, product, *replies):
        self.url = "http://cluster:9200"
        self.product = product
        self.lacking = set()
        self.asked = []
        self._replies = list(replies)

    def call(self, method, path, body=None, *, params=None, check=None, **_habits):
        if path.endswith("/_refresh"):
            return {}
        lines = [orjson.loads(line) for line in body.splitlines()] if isinstance(body, bytes) else None
        self.asked.append((method, path, params, lines or body))
        status, reply = self._replies.pop(0)
        if status >= 400:
            raise failure(self.url, status, reply)
        if check:
            check(reply)
        return reply


def hits(**scores):
    found = [{"_index": "ses.papers.v1", "_score": score, "fields": {"id": [id_]}} for id_, score in scores.items()]
    return {"took": 3, "timed_out": False, "_shards": SHARDS, "hits": {"max_score": None, "hits": found}}


def error(status, kind, reason, **more):
    told = {"type": kind, "reason": reason}
    return status, {"error": {"root_cause": [told], **told, **more}, "status": status}


LEGS = (200, {"took": 5, "responses": [{**hits(a=2.0, b=1.0), "status": 200}, {**hits(a=0.9, c=0.8), "status": 200}]})
"""What ses is answered, where it joins the legs."""

UNKNOWN = {
    kind: error(
        400,
        "parsing_exception",
        f"unknown retriever [{kind}]",
        caused_by={"type": "named_object_not_found_exception", "reason": f"[1:21] unknown field [{kind}]"},
    )
    for kind in ("rrf", "linear")
}
UNLICENSED = {
    "rrf": error(403, "security_exception", "current license is non-compliant for [Reciprocal Rank Fusion (RRF)]"),
    "linear": error(403, "security_exception", "current license is non-compliant for [linear retriever]"),
}


def index_in(kind, version, *replies, schema=SCHEMA):
    product = Product(kind, f"{version[0]}.{version[1]}.0", version)
    cluster = Recorded(product, *replies)
    return ClusterIndex(cluster, dialect_of(product), "papers", 1, schema, None)


def ask(index, plan=PLAN, fusion="minmax", weights=()):
    return index.rank(plan, fusion, dict(weights))


def page_of(index, plan=PLAN, **options):
    """A search after its legs were joined, by the engine if it can."""
    return fuse(retrieve(SearchState(index, SearchRequest("virus lung", join="engine", **options), plan)))


def test_the_embedded_engine_joins_no_legs(tmp_path):
    index = connect(f"embedded:{tmp_path}").build("papers", SCHEMA, "s")
    with pytest.raises(InputError, match="This engine can't join the legs of a search; let ses join them"):
        page_of(index)
    assert page_of(index, replace(PLAN, vectors=())).joined_by == "ses"  # of a single leg, nothing is to be joined


@pytest.mark.parametrize(("kind", "version"), [("opensearch", (3, 6)), ("elasticsearch", (9, 4))])
def test_of_a_single_leg_nothing_is_joined(kind, version):
    index = index_in(kind, version, (200, {"responses": [{**hits(a=2.0), "status": 200}]}))
    state = page_of(index, replace(PLAN, vectors=()), fusion="zscore")
    assert (state.joined_by, [hit.id for hit in state.ranking]) == ("ses", ["a"])
    assert [path for _, path, _, _ in index.cluster.asked] == ["/ses.papers.v1/_msearch"]


@pytest.mark.parametrize(("kind", "version"), [("opensearch", (3, 6)), ("elasticsearch", (9, 4))])
def test_what_the_engine_joined_is_not_joined_again_and_brings_the_column(kind, version):
    found = hits(b=0.5, a=0.5)
    found["hits"]["hits"][0]["fields"]["venue"] = ["Cell"]
    index = index_in(kind, version, (200, found))
    state = page_of(index, replace(PLAN, column="venue"))
    assert (state.joined_by, [hit.id for hit in state.ranking]) == ("engine", ["a", "b"])
    assert state.shown == state.ranking
    assert state.values == {"a": None, "b": "Cell"}
    [(_, _, _, body)] = index.cluster.asked
    assert body["docvalue_fields"] == ["id", "venue"]


def test_opensearch_is_asked_for_a_hybrid_query_and_its_hits_are_ordered_by_score_then_id():
    index = index_in("opensearch", (3, 6), (200, hits(b=0.5, a=0.5, c=0.9)))
    ranking = ask(index, weights={"prx": 3.0})
    assert [(hit.id, hit.score, hit.contributions) for hit in ranking.fused] == [
        ("c", 0.9, {}),
        ("a", 0.5, {}),
        ("b", 0.5, {}),
    ]
    assert ranking.values == {}
    [(method, path, params, body)] = index.cluster.asked
    assert (method, path, params["allow_partial_search_results"]) == ("POST", "/ses.papers.v1/_search", False)
    words, nearest = body["query"]["hybrid"].pop("queries")
    assert body["query"] == {"hybrid": {"pagination_depth": 7}}
    assert (body["size"], body["_source"], body["docvalue_fields"]) == (14, False, ["id"])
    assert words["bool"]["filter"] == [FILTER]
    assert words["bool"]["should"][0] == {"match": {"title_abstract": {"query": "virus lung"}}}
    assert (nearest["knn"]["vector_prx"]["k"], nearest["knn"]["vector_prx"]["filter"]) == (7, FILTER)


def test_no_more_hits_are_asked_for_than_a_search_takes():
    index = index_in("opensearch", (3, 6), (200, hits()))
    ask(index, replace(PLAN, window=MAX_WINDOW))
    assert index.cluster.asked[0][3]["size"] == 10_000


def test_more_legs_than_a_hybrid_query_takes_are_refused():
    crowd = replace(PLAN, vectors=tuple(replace(PLAN.vectors[0], field=f"prx{number}") for number in range(5)))
    with pytest.raises(InputError, match=r"joins up to 5 legs, and this search has 6, .*; let ses join them"):
        ask(index_in("opensearch", (3, 6)), crowd)


def test_the_pipeline_is_made_where_it_is_missing_and_only_there():
    new, old = (
        pipeline_for(Product("opensearch", "", version), "minmax", [0.25, 0.75]) for version in ((3, 6), (2, 19))
    )
    name = pipeline_name("papers", "minmax", new)
    assert name == pipeline_name("papers", "minmax", old)
    missing = error(400, "illegal_argument_exception", f"Pipeline {name} is not defined")
    index = index_in(
        "opensearch", (3, 6), missing, (200, {"acknowledged": True}), (200, hits(a=1.0)), (200, hits(a=1.0))
    )
    for _ in range(2):
        ask(index, weights={"prx": 3.0})
    assert [(method, path) for method, path, _, _ in index.cluster.asked] == [
        ("POST", "/ses.papers.v1/_search"),
        ("PUT", f"/_search/pipeline/{name}"),
        ("POST", "/ses.papers.v1/_search"),
        ("POST", "/ses.papers.v1/_search"),
    ]
    assert index.cluster.asked[1][3] == {
        "description": "made by ses for the index papers, form 2, model tiny (f)",
        **new,
    }
    assert {params["search_pipeline"] for _, _, params, _ in index.cluster.asked if params} == {name}


def test_other_errors_make_no_pipeline():
    index = index_in("opensearch", (3, 6), error(400, "illegal_argument_exception", "numHits must be > 0"))
    with pytest.raises(ClusterError, match="numHits must be > 0"):
        ask(index)
    lacking = index_in("opensearch", (2, 19), error(400, "parsing_exception", "unknown query [hybrid]"))
    with pytest.raises(UnavailableError, match=r"lacks the plugin opensearch-neural-search, .* or let ses join them"):
        ask(lacking)


def processor(product, fusion, weights):
    [made] = pipeline_for(Product("opensearch", ".".join(map(str, product)), product), fusion, weights)[
        "phase_results_processors"
    ]
    return made


def test_each_fusion_has_its_processor():
    weighing = {"technique": "arithmetic_mean", "parameters": {"weights": [0.25, 0.75]}}
    for fusion, technique in (("minmax", "min_max"), ("zscore", "z_score")):
        made = processor((3, 0), fusion, [0.25, 0.75])
        assert made == {"normalization-processor": {"normalization": {"technique": technique}, "combination": weighing}}
    plain = {"technique": "rrf", "rank_constant": 60}
    assert processor((2, 19), "rrf", [0.5, 0.5]) == {"score-ranker-processor": {"combination": plain}}
    weighted = {**plain, "parameters": {"weights": [0.25, 0.75]}}
    assert processor((3, 1), "rrf", [0.25, 0.75]) == {"score-ranker-processor": {"combination": weighted}}


@pytest.mark.parametrize(
    ("version", "fusion", "weights", "message"),
    [
        ((2, 19), "zscore", [0.5, 0.5], "OpenSearch 2.19 has no fusion zscore"),
        ((3, 0), "rrf", [0.25, 0.75], "OpenSearch 3.0 can't weigh the legs of rrf"),
        ((3, 6), "borda", [0.5, 0.5], "OpenSearch 3.6 has no fusion borda"),
    ],
)
def test_what_a_version_cannot_do_is_left_to_ses(version, fusion, weights, message):
    with pytest.raises(InputError) as caught:
        processor(version, fusion, weights)
    assert str(caught.value) == f"{message}, so it can't join these legs; let ses join them."


@given(weights=st.dictionaries(st.sampled_from(["lexical", "prx"]), st.floats(1e-9, 1e9), max_size=2))
def test_weights_reach_a_pipeline_as_shares_and_its_name_as_a_hash(weights):
    index = index_in("opensearch", (3, 6), (200, hits()))
    ask(index, weights=weights)
    lexical, prx = weights.get("lexical", 1.0), weights.get("prx", 1.0)
    name = index.cluster.asked[0][2]["search_pipeline"]
    made = processor((3, 6), "minmax", [lexical / (lexical + prx), prx / (lexical + prx)])
    assert sum(made["normalization-processor"]["combination"]["parameters"]["weights"]) == pytest.approx(1.0)
    assert name.startswith("ses-papers-join-minmax-")
    assert set(name.removeprefix("ses-papers-join-minmax-")) <= set("0123456789abcdef")


@pytest.mark.parametrize("weights", [{'"}], "x': 1.0}, {"lexical": float("nan")}, {"lexical": 0, "prx": 0}])
def test_weights_that_make_no_sense_never_reach_the_cluster(weights):
    for index in (index_in("opensearch", (3, 6)), index_in("elasticsearch", (9, 4))):
        with pytest.raises(InputError, match="weight"):
            ask(index, weights=weights)
        assert index.cluster.asked == []


QUANTIZED = replace(SCHEMA, quantization="int8")


def test_quantized_vectors_are_scored_again_inside_their_own_leg():
    for kind, version in (("opensearch", (3, 6)), ("elasticsearch", (9, 4))):
        index = index_in(kind, version, (200, hits()), schema=QUANTIZED)
        ask(index)
        body = index.cluster.asked[0][3]
        legs = (
            body["query"]["hybrid"]["queries"]
            if kind == "opensearch"
            else [leg["retriever"]["standard"]["query"] for leg in body["retriever"]["linear"]["retrievers"]]
        )
        inner = legs[1]["script_score"]["query"]["bool"]["filter"][1]["knn"]
        clause = inner["vector_prx"] if kind == "opensearch" else inner
        assert (clause["k"], clause["filter"]) == (round(7 * 1.5), FILTER)
        assert "rescore" not in body


def test_elasticsearch_is_asked_for_a_linear_retriever():
    index = index_in("elasticsearch", (9, 4), (200, hits(b=0.75, a=0.75, c=0.2)))
    ranking = ask(index, weights={"prx": 3.0})
    assert [(hit.id, hit.score) for hit in ranking.fused] == [("a", 0.75), ("b", 0.75), ("c", 0.2)]
    assert ranking.values == {}
    [(_, path, params, body)] = index.cluster.asked
    assert (path, params) == ("/ses.papers.v1/_search", {"allow_partial_search_results": False})
    assert (body["size"], body["docvalue_fields"]) == (7, ["id"])
    linear = body["retriever"]["linear"]
    assert linear["rank_window_size"] == 7
    words, nearest = (leg["retriever"] for leg in linear["retrievers"])
    assert [(leg["weight"], leg["normalizer"]) for leg in linear["retrievers"]] == [(0.25, "minmax"), (0.75, "minmax")]
    assert words["standard"]["query"]["bool"]["filter"] == [FILTER]
    assert {name: value for name, value in nearest["knn"].items() if name != "query_vector"} == {
        "field": "vector_prx",
        "k": 7,
        "num_candidates": 500,
        "filter": FILTER,
    }


def test_elasticsearch_is_asked_for_an_rrf_retriever_with_weights_where_it_knows_them():
    old, new = (index_in("elasticsearch", version, (200, hits(a=0.03))) for version in ((8, 16), (9, 2)))
    ask(old, fusion="rrf")
    rrf = old.cluster.asked[0][3]["retriever"]["rrf"]
    assert (rrf["rank_constant"], rrf["rank_window_size"]) == (60, 7)
    assert [list(leg) for leg in rrf["retrievers"]] == [["standard"], ["knn"]]
    ask(new, fusion="rrf", weights={"prx": 3.0})
    rrf = new.cluster.asked[0][3]["retriever"]["rrf"]
    assert [(list(leg["retriever"]), leg["weight"]) for leg in rrf["retrievers"]] == [
        (["standard"], 0.25),
        (["knn"], 0.75),
    ]
    with pytest.raises(InputError, match=r"8\.16\.0 can't weigh the legs of rrf.*; let ses join them"):
        ask(old, fusion="rrf", weights={"prx": 3.0})
    with pytest.raises(InputError, match=r"has no fusion zscore.*; let ses join them"):
        ask(old, fusion="zscore")


@pytest.mark.parametrize("answer", [UNKNOWN, UNLICENSED], ids=["unknown", "unlicensed"])
@pytest.mark.parametrize(("fusion", "kind"), [("minmax", "linear"), ("rrf", "rrf")])
def test_elasticsearch_without_the_retriever_is_left_to_ses_and_says_so_once(caplog, answer, fusion, kind):
    index = index_in("elasticsearch", (9, 4), answer[kind], LEGS, LEGS)
    with caplog.at_level(logging.WARNING, "ses"):
        first, second = (page_of(index, fusion=fusion) for _ in range(2))
    assert first == second
    assert (first.joined_by, {leg: len(found) for leg, found in first.legs.items()}) == (
        "ses",
        {"lexical": 2, "prx": 2},
    )
    assert first.ranking[0].id == "a"
    assert [path.rsplit("/", 1)[1] for _, path, _, _ in index.cluster.asked] == ["_search", "_msearch", "_msearch"]
    [record] = caplog.records
    why = "does not know" if answer is UNKNOWN else "has a licence without"
    assert record.getMessage() == f"http://cluster:9200 {why} the retriever {kind}, so ses joins the legs itself."


@pytest.mark.parametrize(
    "answer",
    [
        error(403, "security_exception", "action [indices:data/read/search] is unauthorized for user [ann]"),
        error(400, "illegal_argument_exception", "[linear] requires [rank_window_size: 2] be greater"),
        error(400, "parsing_exception", "unknown query [script_score]"),
        error(500, "parsing_exception", "unknown retriever [linear]"),
    ],
)
def test_other_errors_are_no_reason_to_fall_back(answer):
    index = index_in("elasticsearch", (9, 4), answer)
    with pytest.raises(ClusterError):
        ask(index)
    assert not index.cluster.lacking


def test_a_page_says_that_the_engine_joined_the_legs():
    from ses.terminal.printing import _footer

    joined = Page("papers", "q", "hybrid", "rrf", "engine", (), 12, 7, {}, None, {})
    assert _footer(joined).startswith("12 candidates (joined by engine) in index papers")
    assert "(5 by words)" in _footer(replace(joined, joined_by="ses", found={"lexical": 5}))
    assert joined.to_dict()["joined_by"] in get_args(Join)
