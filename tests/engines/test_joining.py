"""Rankings that engines make themselves equal ours, and where an engine can't, ours stands in for it."""

from __future__ import annotations

import json
import logging
from dataclasses import replace

import numpy as np
import pytest

from corpora.errors import InputError
from corpora.paper import Paper
from search_plugin.contract.engine import Document
from search_plugin.contract.legs import ranked
from search_plugin.contract.plan import LEXICAL, Plan, VectorClause
from search_plugin.engines.cluster.errors import ClusterError
from search_plugin.engines.cluster.frontends.installation import Installation
from search_plugin.engines.registry import connect
from search_plugin.filters.matching import matches
from search_plugin.fusion.fusions import minmax, rrf
from search_plugin.request import SearchRequest
from search_plugin.search import similar
from tests.conftest import server_url
from tests.engines.conftest import DIMENSION, SCHEMA, documents, empty, publish
from tests.faults import FaultProxy
from tests.search_plugin.filters.filtered import exact_filter

WORDS = (
    "virus lung protein",
    "heart",
    "galaxy quantum star ocean",
    "gene therapy risk in children",
    "mouse brain study",
)
CLOSE = 1e-5


def lanes(*names):
    return [pytest.param(name, marks=getattr(pytest.mark, name)) for name in names]


OPENSEARCH = lanes("opensearch", "opensearch2")


@pytest.fixture(scope="module", params=OPENSEARCH)
def opensearch(request):
    server = connect(server_url(request.param))
    empty(server)
    yield server
    empty(server)
    delete_pipelines(server)


@pytest.fixture(scope="module", params=lanes("elasticsearch", "elasticsearch9"))
def elasticsearch(request):
    server = connect(server_url(request.param))
    empty(server)
    yield server
    empty(server)


@pytest.fixture(scope="module")
def index(opensearch):
    return publish_sorted(opensearch, "papers", documents(200))


def delete_pipelines(server):
    for name in pipelines(server):
        server.cluster.call("DELETE", f"/_search/pipeline/{name}")


def pipelines(server):
    try:
        return [name for name in server.cluster.call("GET", "/_search/pipeline") if name.startswith("ses-")]
    except ClusterError as error:
        if error.status != 404:
            raise
        return []


def publish_sorted(engine, name, written, schema=SCHEMA):
    """Write papers in the order of their ids: engines rank equal scores in the order of writing, we by id."""
    return publish(engine, sorted(written, key=lambda document: document.paper.id), schema=schema, name=name)


def plans(window, **options):
    draw = np.random.default_rng(100)
    for words in WORDS:
        vector = draw.standard_normal(DIMENSION).astype(np.float32)
        yield Plan(words, (VectorClause("prx", vector),), None, window, **options)


def joined(index, plan, fusion="minmax", weights=()):
    return index.rank(plan, fusion, dict(weights)).fused


def assert_equal(theirs, ours):
    """The same papers, scores and order; only what we score alike to 1e-5, they may order otherwise."""
    expected = {hit.id: hit.score for hit in ours}
    assert {hit.id for hit in theirs} == set(expected)
    assert [hit.score for hit in theirs] == pytest.approx([expected[hit.id] for hit in theirs], abs=CLOSE)
    for their, our in zip(theirs, ours, strict=True):
        assert their.id == our.id or abs(expected[their.id] - our.score) < CLOSE


@pytest.mark.parametrize("window", [5, 30, 200])
def test_our_minmax_equals_the_normalization_processor(index, window):
    for weights in ({}, {"lexical": 1.0, "prx": 2.5}, {"lexical": 0.0}):
        for plan in plans(window):
            ours = minmax(index.search(plan), weights, floor=0.001)
            assert_equal(joined(index, plan, weights=weights), ours)


@pytest.mark.parametrize("window", [5, 30, 200])
def test_our_rrf_equals_the_score_ranker_processor(index, window):
    for plan in plans(window):
        assert_equal(joined(index, plan, fusion="rrf"), rrf(index.search(plan), {}))


@pytest.mark.parametrize("opensearch", lanes("opensearch"), indirect=True)
def test_weighted_rrf_equals_ours_by_shares(index):
    for plan in plans(30):
        ours = rrf(index.search(plan), {"lexical": 0.25, "prx": 0.75})
        assert_equal(joined(index, plan, fusion="rrf", weights={"lexical": 1, "prx": 3}), ours)


@pytest.mark.parametrize("opensearch", lanes("opensearch"), indirect=True)
def test_zscore_is_the_mean_of_sample_z_scores_with_a_floor(index):
    for plan in plans(30):
        expected = {}
        for found in index.search(plan).values():
            raw = np.array([hit.score for hit in found])
            scaled = np.maximum((raw - raw.mean()) / raw.std(ddof=1), 0.001)
            for hit, value in zip(found, scaled, strict=True):
                expected[hit.id] = expected.get(hit.id, 0.0) + value / 2
        theirs = {hit.id: hit.score for hit in joined(index, plan, fusion="zscore")}
        assert theirs.keys() == expected.keys()
        # Theirs leaves z-scores between 0 and the floor as they are.
        assert theirs == pytest.approx(expected, abs=0.0011)


@pytest.mark.parametrize("opensearch", lanes("opensearch2"), indirect=True)
def test_what_the_older_opensearch_lacks_is_refused(index):
    plan = next(plans(5))
    with pytest.raises(InputError, match=r"OpenSearch 2\.\S+ has no fusion zscore.*; let ses join them"):
        joined(index, plan, fusion="zscore")
    with pytest.raises(InputError, match=r"OpenSearch 2\.\S+ can't weigh the legs of rrf.*; let ses join them"):
        joined(index, plan, fusion="rrf", weights={"prx": 2.0})


def test_equal_scores_of_a_leg_have_their_ranks_in_the_engines_order(opensearch):
    # Written backwards, and so short that many score alike: only which of them comes first may differ.
    short = [replace(d, paper=replace(d.paper, title=d.paper.title.split()[0], abstract="")) for d in documents(150)]
    index = opensearch.build("short", SCHEMA, "source")
    index.upsert(short[::-1])
    index.finish()
    plan = replace(next(plans(200)), words="virus lung protein heart gene")
    legs = index.search(plan)
    scores = [hit.score for hit in legs[LEXICAL]]
    assert len(set(scores)) < len(scores) > 10
    places = {hit.id: [i for i, score in enumerate(scores, 1) if score == hit.score] for hit in legs[LEXICAL]}
    ranks = {hit.id: rank for rank, hit in enumerate(legs["prx"], 1)}
    taken = {}
    for hit in joined(index, plan, fusion="rrf"):
        rest = hit.score - 1 / (60 + ranks[hit.id])
        if hit.id in places:
            rank = round(1 / rest - 60)
            assert rank in places[hit.id]
            assert rest == pytest.approx(1 / (60 + rank), abs=1e-7)
            taken.setdefault(scores[rank - 1], []).append(rank)
        else:
            assert rest == pytest.approx(0, abs=1e-7)
    assert sorted(rank for group in taken.values() for rank in group) == list(range(1, len(scores) + 1))


@pytest.mark.parametrize(
    "text", ["year>=2010", "not venue=Nature and (author='Ada Byron' or field=Physics)", "year=1800"]
)
def test_a_filter_holds_in_every_leg(index, text):
    where = exact_filter(text)
    passing = {document.paper.id for document in documents(200) if matches(where, document.paper)}
    for plan in plans(200):
        plan = replace(plan, filter=where)
        theirs = joined(index, plan)
        assert {hit.id for hit in theirs} == passing
        assert_equal(theirs, minmax(index.search(plan), {}, floor=0.001))


@pytest.mark.parametrize("quantization", ["none", "int8"])
def test_vectors_are_scored_whole_in_exact_and_in_quantized_searches(opensearch, quantization):
    index = publish_sorted(
        opensearch, f"kept-{quantization}", documents(200), replace(SCHEMA, quantization=quantization)
    )
    # A window and its oversampling that hold all papers, so that only the scores are left to differ.
    for plan in plans(150, exact=True):
        ours = minmax(index.search(plan), {}, floor=0.001)
        assert_equal(joined(index, plan), ours)
        assert_equal(joined(index, replace(plan, exact=False)), ours)


def test_words_are_never_query_syntax(index):
    for words in ('virus" OR *:*', 'x"}}]}}, {"match_all": {}', "病毒", "xyzzy"):
        plan = replace(next(plans(5)), words=words)
        assert_equal(joined(index, plan), minmax(index.search(plan), {}, floor=0.001))


def test_a_pipeline_is_made_once_kept_and_made_again_if_somebody_deletes_it(opensearch, index):
    delete_pipelines(opensearch)
    with FaultProxy(opensearch.url) as proxy:
        index = connect(proxy.url).open("papers")
        plan = next(plans(5))
        before = joined(index, plan)
        [name] = pipelines(opensearch)
        assert joined(index, plan) == before
        assert joined(connect(proxy.url).open("papers"), plan) == before
        assert [request.path for request in proxy.requests if request.method == "PUT"] == [f"/_search/pipeline/{name}"]
        opensearch.cluster.call("DELETE", f"/_search/pipeline/{name}")
        assert joined(index, plan) == before
        joined(index, plan, fusion="rrf")
        joined(index, plan, weights={"prx": 2.0})
        assert len(pipelines(opensearch)) == 3


def test_the_pipelines_of_an_index_are_removed_with_what_is_installed_for_it(opensearch, index):
    other = publish_sorted(opensearch, "papers2", documents(20))
    delete_pipelines(opensearch)
    plan = next(plans(5))
    joined(index, plan)
    joined(index, plan, fusion="rrf")
    joined(other, plan)
    removed = {one.name: one.change for one in Installation(opensearch.cluster, "papers").remove()}
    assert sorted(removed.values()) == ["removed", "removed"]
    [left] = pipelines(opensearch)
    assert left.startswith("ses-papers2-join-minmax-")
    # It is made again when it is needed.
    assert joined(index, plan)


def test_pages_follow_each_other_and_count_what_the_legs_brought(index):
    request = SearchRequest("-", join="engine", size=30, window=40, facets=("journal",), neighbours=0)
    whole = similar(index, "p00005", request)
    parts = [similar(index, "p00005", replace(request, size=10, offset=offset)) for offset in (0, 10, 20)]
    ours = similar(index, "p00005", replace(request, join="ses"))
    followed = [hit for part in parts for hit in part.hits]
    assert [replace(hit, score=0) for hit in followed] == [replace(hit, score=0) for hit in whole.hits]
    # Segments that merge meanwhile change the last bit of a score.
    assert [hit.score for hit in followed] == pytest.approx([hit.score for hit in whole.hits], abs=CLOSE)
    assert (whole.joined_by, ours.joined_by) == ("engine", "ses")
    assert whole.facets == ours.facets
    # Pages that ses joins go on behind the window.
    assert whole.candidates <= ours.candidates == ours.matches + ours.near
    assert [hit.paper.id for hit in whole.hits][:10] == [hit.paper.id for hit in ours.hits][:10]
    assert not any(hit.legs for hit in whole.hits)
    collapsed = similar(index, "p00005", replace(request, collapse="venue"))
    assert collapsed.candidates + sum(hit.collapsed for hit in collapsed.hits) == whole.candidates
    assert similar(index, "p00005", replace(request, mode="vector")).joined_by == "ses"


def test_elasticsearch_without_retrievers_falls_back_and_says_so_once(elasticsearch, caplog):
    publish_sorted(elasticsearch, "papers", documents(100))
    with FaultProxy(elasticsearch.url) as proxy, caplog.at_level(logging.WARNING, "ses"):
        index = connect(proxy.url).open("papers")
        for fusion in ("rrf", "minmax"):
            request = SearchRequest("-", fusion=fusion, join="engine", window=20)
            ours = similar(index, "p00005", replace(request, join="ses"))
            for _ in range(2):
                page = similar(index, "p00005", request)
                assert (page.joined_by, page.hits, page.found) == ("ses", ours.hits, ours.found)
        asked = [request for request in proxy.requests if b'"retriever"' in request.body]
    assert len(asked) == 2
    assert [record.getMessage() for record in caplog.records] == [
        f"{index.cluster.url} does not know the retriever {kind}, so ses joins the legs itself."
        for kind in ("rrf", "linear")
    ]


@pytest.mark.parametrize("quantization", ["none", "int8"])
def test_the_legs_of_a_retriever_are_our_legs(elasticsearch, quantization):
    """No server here has `linear`; but its legs are searches of their own, and bring what ours bring."""
    from search_plugin.engines.cluster.elasticsearch import _retrievers
    from search_plugin.engines.cluster.queries import ID_COLUMN, scored

    index = publish_sorted(
        elasticsearch, f"kept-{quantization}", documents(200), replace(SCHEMA, quantization=quantization)
    )
    for exact in (False, True):
        for plan in plans(20, exact=exact):
            plan = replace(plan, filter=exact_filter("year>=2000"))
            ours = index.search(plan)
            for leg, retriever in zip(plan.legs, _retrievers(index, plan), strict=True):
                reply = index.ask_search({"retriever": retriever, "size": 20, **ID_COLUMN})
                theirs = scored(reply["hits"]["hits"], leg, index.schema, 20)
                assert [hit.score for hit in theirs] == pytest.approx([hit.score for hit in ours[leg]], abs=CLOSE)
                assert {hit.id for hit in theirs if hit.score > ours[leg][-1].score + CLOSE} <= {
                    h.id for h in ours[leg]
                }


def test_scifact_is_ranked_alike(opensearch, data_dir):
    """500 real papers and 20 real queries; the vectors are random, since only their numbers matter here."""
    folder = data_dir / "eval" / "scifact"
    draw = np.random.default_rng(7)

    def vector(size):
        return draw.standard_normal(size).astype(np.float32)

    with (folder / "corpus.jsonl").open(encoding="utf-8") as file:
        rows = [json.loads(line) for line, _ in zip(file, range(500), strict=False)]
    read = [Paper(row["_id"], row["title"], row["text"]) for row in rows]
    index = publish_sorted(
        opensearch,
        "scifact",
        [Document(paper, paper.content_hash(), {"prx": vector(DIMENSION), "clf": vector(8)}) for paper in read],
    )
    with (folder / "queries.jsonl").open(encoding="utf-8") as file:
        queries = [json.loads(line)["text"] for line, _ in zip(file, range(20), strict=False)]
    assert (index.count(), len(queries)) == (500, 20)
    for query in queries:
        plan = Plan(query, (VectorClause("prx", vector(DIMENSION)),), None, 100)
        legs = index.search(plan)
        assert all(found == ranked(found) for found in legs.values())
        assert_equal(joined(index, plan), minmax(legs, {}, floor=0.001))
        assert_equal(joined(index, plan, fusion="rrf"), rrf(legs, {}))
