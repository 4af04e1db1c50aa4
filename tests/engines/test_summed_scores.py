"""Elasticsearch joins legs by adding up scaled scores, in a page and in a template of it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from search_plugin.contract.plan import Plan, VectorClause
from search_plugin.contract.tree import Compare
from search_plugin.engines.cluster.documents import batches
from search_plugin.engines.cluster.frontends.artifacts import Ownership
from search_plugin.engines.cluster.frontends.page_request import page_request
from search_plugin.engines.cluster.frontends.templates import template_of
from search_plugin.engines.cluster.index import ClusterIndex
from search_plugin.engines.cluster.mapping import body_of
from search_plugin.engines.registry import connect
from search_plugin.request import SearchRequest
from tests.conftest import server_url
from tests.engines.conftest import DIMENSION, SCHEMA, documents, empty, publish

VECTOR = np.random.default_rng(1).standard_normal(DIMENSION).astype(np.float32)
VECTOR /= np.linalg.norm(VECTOR)
ELASTICSEARCH = [pytest.param(lane, marks=getattr(pytest.mark, lane)) for lane in ("elasticsearch", "elasticsearch9")]


@pytest.mark.parametrize("lane", ELASTICSEARCH)
@pytest.mark.parametrize("quantization", ["none", "int8"])
def test_a_page_adds_up_saturated_words_and_positive_cosines(lane, quantization):
    engine = connect(server_url(lane))
    empty(engine)
    index = publish(engine, documents(60), schema=replace(SCHEMA, quantization=quantization))
    plan = Plan("virus lung protein", (VectorClause("prx", VECTOR),), Compare("year", ">=", 1995), 100)
    legs = index.search(plan)
    expected = dict.fromkeys((hit.id for hits in legs.values() for hit in hits), 0.0)
    assert 10 < len(legs["lexical"]) < len(expected) < 60
    for hit in legs["lexical"]:
        expected[hit.id] += 0.75 * hit.score / (hit.score + 10)
    for hit in legs["prx"]:
        expected[hit.id] += 0.25 * max(0.0, hit.score)
    request = SearchRequest("", size=60, weights={"lexical": 3.0, "prx": 1.0})
    reply = engine.cluster.call("POST", "/papers/_search", page_request(index, plan, request).body)
    assert reply["aggregations"]["all"]["matches"]["doc_count"] == len(expected)
    assert {hit["_id"]: hit["_score"] for hit in reply["hits"]["hits"]} == pytest.approx(expected, abs=1e-5)
    empty(engine)


@pytest.mark.opensearch
@pytest.mark.elasticsearch9
@pytest.mark.parametrize("name", ["lexical", "hybrid", "hybrid-table", "similar"])
def test_a_template_that_opensearch_fills_is_the_page_of_elasticsearch(name):
    # The Elasticsearch of the tests has no mustache. The index is no index of ses, which other tests would delete.
    engine, mustache = connect(server_url("elasticsearch9")), connect(server_url("opensearch")).cluster
    index = ClusterIndex(engine.cluster, engine.dialect, f"rendered-{name}", 1, SCHEMA, None)
    body = body_of(SCHEMA, "", engine.dialect, 1)
    engine.cluster.call("PUT", f"/{index.name}", body)
    try:
        (batch,) = batches(documents(60), SCHEMA, 1 << 24, [])
        lines = b"\n".join([*batch.lines, b""])
        assert not engine.cluster.call("POST", f"/{index.name}/_bulk", lines, params={"refresh": True})["errors"]
        words = "" if name == "similar" else 'virus "lung" \\ {{protein}}\n'
        vectors = () if name == "lexical" else (VectorClause("prx", VECTOR, 2 / 3 if name == "hybrid-table" else 1),)
        request = SearchRequest("", offset=1, size=7, facets=("year",), facet_size=5)
        page = page_request(index, Plan(words, vectors, Compare("year", ">=", 1995), request.window), request)
        given = {"words": words, "vector": VECTOR.tolist(), "from": 1, "size": 7, "facet_size": 6}
        given |= {"filters": [{"range": {"year": {"gte": 1995}}}], "facets": {"year": True}}
        source = template_of(index, name, Ownership(index.name), "minmax")
        filled = mustache.call("POST", "/_render/template", {"source": source, "params": given})["template_output"]
        ours, theirs = (engine.cluster.call("POST", f"/{index.name}/_search", one) for one in (page.body, filled))
        assert len(ours["hits"]["hits"]) == 7
        assert theirs["hits"] == ours["hits"]
        counts = theirs["aggregations"] if name == "lexical" else theirs["aggregations"]["all"]["matches"]
        assert counts.pop("none") == {"doc_count": 0}
        assert theirs["aggregations"] == ours["aggregations"]
    finally:
        engine.cluster.call("DELETE", f"/{index.name}")
