"""Totals and facets of pages that a cluster makes in one request equal those of ses, also in a large index."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from search_plugin.contract.plan import Counting, Plan, VectorClause
from search_plugin.contract.tree import Compare
from search_plugin.engines.cluster.frontends.index_artifacts import installation_of
from search_plugin.engines.cluster.frontends.page_request import page_request
from search_plugin.request import SearchRequest
from search_plugin.search import similar
from tests.engines.conftest import CLUSTERS, DIMENSION, SCHEMA, documents, emptied, publish

PAPERS = 6_000
"""OpenSearch 3 leaves papers out of its counts only after the first 4,096 of a segment."""

FACETS = ("venue", "year")
VECTOR = np.random.default_rng(1).standard_normal(DIMENSION).astype(np.float32)
PLANS = {
    "both": Plan("virus lung protein", (VectorClause("prx", VECTOR),), None, 100),
    "filter": Plan("virus lung protein", (VectorClause("prx", VECTOR),), Compare("year", ">=", 2000), 100),
    "window": Plan("virus lung protein", (VectorClause("prx", VECTOR),), None, 30),
    "vector": Plan("", (VectorClause("prx", VECTOR),), Compare("year", ">=", 2000), 100),
    "words": Plan("virus lung protein", (), Compare("year", ">=", 2000), 100),
}


@pytest.fixture(scope="module", params=CLUSTERS)
def index(request):
    """An index of some thousand papers in one segment."""
    for engine in emptied(request.param, None):
        built = engine.build("papers", SCHEMA, "source")
        built.upsert(documents(PAPERS))
        built.finish()
        engine.publish(built)
        opened = engine.open("papers")
        engine.cluster.call("POST", "/papers/_forcemerge", params={"max_num_segments": 1})
        yield opened
        installation_of(opened).remove()


def of_ses(index, plan):
    """What ses counts: the papers that hold a word, and those that the legs found."""
    found = {hit.id for hits in index.search(plan).values() for hit in hits}
    _, facets = index.fetch([], Counting(plan, sorted(found), FACETS, 10))
    return facets.matches, facets.counts


def of_reply(reply):
    """What the reply to one request counts, and that it has no other total that could be taken for it."""
    counts = reply["aggregations"]
    if "all" in counts:
        assert "total" not in reply["hits"]
        matches = counts["all"]["matches"]
        total = matches["doc_count"]
    else:
        matches, total = counts, reply["hits"]["total"]["value"]
    return total, {name: tuple((b["key"], b["doc_count"]) for b in matches[name]["buckets"])[:10] for name in FACETS}


@pytest.mark.parametrize("size", [10, 0])
@pytest.mark.parametrize("name", PLANS)
def test_a_page_in_one_request_counts_as_ses_does(index, name, size):
    plan = PLANS[name]
    matches, counts = of_ses(index, plan)
    assert matches == plan.window if not plan.words else matches > 2_000
    request = SearchRequest("", size=size, facets=FACETS)
    page = page_request(index, plan, request)
    total, values = of_reply(index.cluster.call("POST", page.path, page.body))
    if name == "window" and index.dialect.finds_candidates:
        # A search for 30 papers has 30 candidates there, and may miss the thirtieth.
        assert abs(total - matches) <= 2
    else:
        assert (total, values) == (matches, counts)


def test_a_template_counts_as_ses_does(index):
    if any(one.change == "left out" for one in installation_of(index).install()):
        assert index.cluster.product.kind == "elasticsearch"  # see test_summed_scores
        return
    given = {"words": "virus lung protein", "vector": VECTOR.tolist(), "facets": dict.fromkeys(FACETS, True)}
    for name, plan in (("hybrid", PLANS["both"]), ("similar", replace(PLANS["both"], words=""))):
        params = {"search_pipeline": "ses-papers-minmax"} if name == "hybrid" else {}
        body = {"id": f"ses-papers-{name}", "params": given}
        assert of_reply(index.cluster.call("POST", "/papers/_search/template", body, params=params)) == of_ses(
            index, plan
        )


def test_a_search_that_the_engine_joins_counts_as_one_that_ses_joins(index):
    request = SearchRequest("-", join="engine", facets=FACETS, neighbours=0, filter=Compare("year", ">=", 1990))
    theirs, ours = (similar(index, "p00005", replace(request, join=join)) for join in ("engine", "ses"))
    assert theirs.facets == ours.facets
    assert theirs.candidates <= ours.candidates == ours.matches + ours.near


@pytest.mark.parametrize("lane", CLUSTERS)
def test_a_quantized_graph_counts_no_spare_papers(lane):
    for engine in emptied(lane, None):
        publish(engine, documents(700), schema=replace(SCHEMA, quantization="int8"), name="kept")
        page = page_request(engine.open("kept"), replace(PLANS["vector"], filter=None), SearchRequest(""))
        reply = engine.cluster.call("POST", page.path, page.body)
        assert reply["aggregations"]["all"]["matches"]["doc_count"] == 100
