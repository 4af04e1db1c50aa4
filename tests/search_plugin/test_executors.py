"""What the executors inside a cluster ask for, and what they make of answers recorded from servers we have not."""

from __future__ import annotations

import logging
from dataclasses import replace

import numpy as np
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpora.errors import InputError, UnavailableError
from search_plugin.engines.cluster.dialect import dialect_of
from search_plugin.engines.cluster.errors import ClusterError, failure
from search_plugin.engines.cluster.index import ClusterIndex
from search_plugin.engines.cluster.product import Product
from search_plugin.engines.registry import connect
from search_plugin.executors.opensearch_pipeline import pipeline_for, pipeline_name
from search_plugin.executors.registry import EXECUTORS, get_executor
from search_plugin.filters.parse import parse_filter
from search_plugin.page import Page
from search_plugin.plan import Plan, VectorClause
from search_plugin.request import MAX_WINDOW, SearchRequest
from search_plugin.schema import IndexSchema, VectorField

SCHEMA = IndexSchema("tiny", "f", (VectorField("prx", 3, "cosine"), VectorField("clf", 3, "l2")))
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
"""What the executor `client` is answered."""

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


def ask(index, name, plan=PLAN, **options):
    return get_executor(name)(index, plan, SearchRequest("virus lung", **options))


@pytest.mark.parametrize("name", ["opensearch-pipeline", "es-retriever"])
def test_another_engine_is_refused(tmp_path, name):
    article = {"opensearch-pipeline": "an OpenSearch", "es-retriever": "an Elasticsearch"}[name]
    engine = connect(f"lance:{tmp_path}")
    others = [engine.build("papers", SCHEMA, "s")]
    others.append(index_in("elasticsearch" if name == "opensearch-pipeline" else "opensearch", (9, 4)))
    for other in others:
        with pytest.raises(InputError) as caught:
            ask(other, name)
        assert str(caught.value) == f"The executor {name} needs {article} engine; leave --executor out."


def test_unknown_executors_name_the_known():
    with pytest.raises(InputError, match="those there are: client, opensearch-pipeline, es-retriever"):
        get_executor("magic")


@pytest.mark.parametrize(
    ("name", "kind", "version"),
    [
        ("opensearch-pipeline", "opensearch", (3, 6)),
        ("es-retriever", "elasticsearch", (9, 4)),
    ],
)
def test_a_single_leg_goes_to_the_client(name, kind, version):
    index = index_in(kind, version, (200, {"responses": [{**hits(a=2.0), "status": 200}]}))
    ranking = ask(index, name, replace(PLAN, vectors=()), fusion="zscore")
    assert (ranking.executor, [hit.id for hit in ranking.fused]) == ("client", ["a"])
    assert [path for _, path, _, _ in index.cluster.asked] == ["/ses.papers.v1/_msearch"]


def test_opensearch_is_asked_for_a_hybrid_query_and_its_hits_are_ordered_by_score_then_id():
    index = index_in("opensearch", (3, 6), (200, hits(b=0.5, a=0.5, c=0.9)))
    ranking = ask(index, "opensearch-pipeline", weights={"prx": 3.0})
    assert [(hit.id, hit.score, hit.contributions) for hit in ranking.fused] == [
        ("c", 0.9, {}),
        ("a", 0.5, {}),
        ("b", 0.5, {}),
    ]
    assert (ranking.found, ranking.executor) == ({}, "opensearch-pipeline")
    [(method, path, params, body)] = index.cluster.asked
    assert (method, path, params["allow_partial_search_results"]) == ("POST", "/ses.papers.v1/_search", False)
    words, nearest = body["query"]["hybrid"].pop("queries")
    assert body["query"] == {"hybrid": {"pagination_depth": 7}}
    assert (body["size"], body["_source"], body["docvalue_fields"]) == (14, False, ["id"])
    assert words["bool"]["filter"] == [FILTER]
    assert words["bool"]["must"] == [{"match": {"text": {"query": "virus lung"}}}]
    assert (nearest["knn"]["prx"]["k"], nearest["knn"]["prx"]["filter"]) == (7, FILTER)


def test_no_more_hits_are_asked_for_than_a_search_takes():
    index = index_in("opensearch", (3, 6), (200, hits()))
    ask(index, "opensearch-pipeline", replace(PLAN, window=MAX_WINDOW))
    assert index.cluster.asked[0][3]["size"] == 10_000


def test_more_legs_than_a_hybrid_query_takes_are_refused():
    crowd = replace(PLAN, vectors=PLAN.vectors * 5)
    with pytest.raises(InputError, match=r"up to 5 legs, and this search has 6, .*; use --executor client"):
        ask(index_in("opensearch", (3, 6)), "opensearch-pipeline", crowd)


def test_the_pipeline_is_made_where_it_is_missing_and_only_there():
    new, old = (
        pipeline_for(Product("opensearch", "", version), "minmax", [0.25, 0.75]) for version in ((3, 6), (2, 19))
    )
    name = pipeline_name("minmax", new)
    assert name == pipeline_name("minmax", old)
    missing = error(400, "illegal_argument_exception", f"Pipeline {name} is not defined")
    index = index_in(
        "opensearch", (3, 6), missing, (200, {"acknowledged": True}), (200, hits(a=1.0)), (200, hits(a=1.0))
    )
    for _ in range(2):
        ask(index, "opensearch-pipeline", weights={"prx": 3.0})
    assert [(method, path) for method, path, _, _ in index.cluster.asked] == [
        ("POST", "/ses.papers.v1/_search"),
        ("PUT", f"/_search/pipeline/{name}"),
        ("POST", "/ses.papers.v1/_search"),
        ("POST", "/ses.papers.v1/_search"),
    ]
    assert index.cluster.asked[1][3] == new
    assert {params["search_pipeline"] for _, _, params, _ in index.cluster.asked if params} == {name}


def test_other_errors_make_no_pipeline():
    index = index_in("opensearch", (3, 6), error(400, "illegal_argument_exception", "numHits must be > 0"))
    with pytest.raises(ClusterError, match="numHits must be > 0"):
        ask(index, "opensearch-pipeline")
    lacking = index_in("opensearch", (2, 19), error(400, "parsing_exception", "unknown query [hybrid]"))
    with pytest.raises(
        UnavailableError, match=r"lacks the plugin opensearch-neural-search, .* or use --executor client"
    ):
        ask(lacking, "opensearch-pipeline")


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
def test_what_a_version_cannot_do_names_the_client(version, fusion, weights, message):
    with pytest.raises(InputError) as caught:
        processor(version, fusion, weights)
    assert str(caught.value) == f"{message}, so the executor opensearch-pipeline can't be used; use --executor client."


@given(weights=st.dictionaries(st.sampled_from(["lexical", "prx"]), st.floats(1e-9, 1e9), max_size=2))
def test_weights_reach_a_pipeline_as_shares_and_its_name_as_a_hash(weights):
    index = index_in("opensearch", (3, 6), (200, hits()))
    ask(index, "opensearch-pipeline", weights=weights)
    lexical, prx = weights.get("lexical", 1.0), weights.get("prx", 1.0)
    name = index.cluster.asked[0][2]["search_pipeline"]
    made = processor((3, 6), "minmax", [lexical / (lexical + prx), prx / (lexical + prx)])
    assert sum(made["normalization-processor"]["combination"]["parameters"]["weights"]) == pytest.approx(1.0)
    assert name.startswith("ses.minmax.")
    assert set(name.removeprefix("ses.minmax.")) <= set("0123456789abcdef")


@pytest.mark.parametrize("weights", [{'"}], "x': 1.0}, {"lexical": float("nan")}, {"lexical": 0, "prx": 0}])
def test_weights_that_make_no_sense_never_reach_the_cluster(weights):
    for name, index in (
        ("opensearch-pipeline", index_in("opensearch", (3, 6))),
        ("es-retriever", index_in("elasticsearch", (9, 4))),
    ):
        with pytest.raises(InputError, match="weight"):
            ask(index, name, weights=weights)
        assert index.cluster.asked == []


QUANTIZED = replace(SCHEMA, quantization="int8")


def test_quantized_vectors_are_scored_again_inside_their_own_leg():
    for name, kind, version in (
        ("opensearch-pipeline", "opensearch", (3, 6)),
        ("es-retriever", "elasticsearch", (9, 4)),
    ):
        index = index_in(kind, version, (200, hits()), schema=QUANTIZED)
        ask(index, name)
        body = index.cluster.asked[0][3]
        legs = (
            body["query"]["hybrid"]["queries"]
            if kind == "opensearch"
            else [leg["retriever"]["standard"]["query"] for leg in body["retriever"]["linear"]["retrievers"]]
        )
        inner = legs[1]["script_score"]["query"]["bool"]["filter"][1]["knn"]
        clause = inner["prx"] if kind == "opensearch" else inner
        assert (clause["k"], clause["filter"]) == (round(7 * 1.5), FILTER)
        assert "rescore" not in body


def test_elasticsearch_is_asked_for_a_linear_retriever():
    index = index_in("elasticsearch", (9, 4), (200, hits(b=0.75, a=0.75, c=0.2)))
    ranking = ask(index, "es-retriever", weights={"prx": 3.0})
    assert [(hit.id, hit.score) for hit in ranking.fused] == [("a", 0.75), ("b", 0.75), ("c", 0.2)]
    assert (ranking.found, ranking.executor) == ({}, "es-retriever")
    [(_, path, params, body)] = index.cluster.asked
    assert (path, params) == ("/ses.papers.v1/_search", {"allow_partial_search_results": False})
    assert (body["size"], body["docvalue_fields"]) == (7, ["id"])
    linear = body["retriever"]["linear"]
    assert linear["rank_window_size"] == 7
    words, nearest = (leg["retriever"] for leg in linear["retrievers"])
    assert [(leg["weight"], leg["normalizer"]) for leg in linear["retrievers"]] == [(0.25, "minmax"), (0.75, "minmax")]
    assert words["standard"]["query"]["bool"]["filter"] == [FILTER]
    assert {name: value for name, value in nearest["knn"].items() if name != "query_vector"} == {
        "field": "prx",
        "k": 7,
        "num_candidates": 200,
        "filter": FILTER,
    }


def test_elasticsearch_is_asked_for_an_rrf_retriever_with_weights_where_it_knows_them():
    old, new = (index_in("elasticsearch", version, (200, hits(a=0.03))) for version in ((8, 16), (9, 2)))
    ask(old, "es-retriever", fusion="rrf")
    rrf = old.cluster.asked[0][3]["retriever"]["rrf"]
    assert (rrf["rank_constant"], rrf["rank_window_size"]) == (60, 7)
    assert [list(leg) for leg in rrf["retrievers"]] == [["standard"], ["knn"]]
    ask(new, "es-retriever", fusion="rrf", weights={"prx": 3.0})
    rrf = new.cluster.asked[0][3]["retriever"]["rrf"]
    assert [(list(leg["retriever"]), leg["weight"]) for leg in rrf["retrievers"]] == [
        (["standard"], 0.25),
        (["knn"], 0.75),
    ]
    with pytest.raises(InputError, match=r"8\.16\.0 can't weigh the legs of rrf.*; use --executor client"):
        ask(old, "es-retriever", fusion="rrf", weights={"prx": 3.0})
    with pytest.raises(InputError, match=r"has no fusion zscore.*; use --executor client"):
        ask(old, "es-retriever", fusion="zscore")


@pytest.mark.parametrize("answer", [UNKNOWN, UNLICENSED], ids=["unknown", "unlicensed"])
@pytest.mark.parametrize(("fusion", "kind"), [("minmax", "linear"), ("rrf", "rrf")])
def test_elasticsearch_without_the_retriever_is_searched_by_the_client_and_says_so_once(caplog, answer, fusion, kind):
    index = index_in("elasticsearch", (9, 4), answer[kind], LEGS, LEGS)
    with caplog.at_level(logging.WARNING, "ses"):
        first, second = (ask(index, "es-retriever", fusion=fusion) for _ in range(2))
    assert first == second
    assert (first.executor, first.found, first.fused[0].id) == ("client", {"lexical": 2, "prx": 2}, "a")
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
        ask(index, "es-retriever")
    assert not index.cluster.lacking


def test_a_page_says_that_the_engine_joined_the_legs():
    from ses.printing import _footer

    joined = Page("papers", "q", "hybrid", "rrf", "opensearch-pipeline", (), 12, 7, {}, None, {})
    assert _footer(joined).startswith("12 candidates (joined by opensearch-pipeline) in index papers")
    assert "(5 by lexical)" in _footer(replace(joined, executor="client", found={"lexical": 5}))
    assert joined.to_dict()["executor"] in EXECUTORS
