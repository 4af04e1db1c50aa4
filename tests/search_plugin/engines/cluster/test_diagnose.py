"""The whole report on a cluster, from answers as clusters give them; it only reads."""

from __future__ import annotations

import re
import time
from dataclasses import replace

import pytest

from corpora.errors import UnavailableError
from search_plugin.contract.diagnosis import human_bytes
from search_plugin.contract.schema import IndexSchema, paper_vector
from search_plugin.engines.cluster.diagnosis.diagnose import FILTER, Watermark, diagnose
from search_plugin.engines.cluster.diagnosis.indexes import estimate
from search_plugin.engines.cluster.dialects import dialect_of
from search_plugin.engines.cluster.errors import failure, unanswered
from search_plugin.engines.cluster.lease import INDEX, here
from search_plugin.engines.cluster.mapping import SERVING, body_of
from search_plugin.engines.cluster.physical import read_generations
from search_plugin.engines.cluster.product import Product
from tests.search_plugin.engines.cluster.conversations import attachment
from tests.search_plugin.engines.cluster.test_joining import SHARDS, error

GIB = 1 << 30
PRODUCTS = {kind: Product(kind, number, version) for kind, number, version in (
    ("opensearch", "3.6.0", (3, 6)), ("elasticsearch", "9.4.0", (9, 4)),
)}  # fmt: skip
PASSAGES = replace(paper_vector("clf", 8, "l2"), unit="passage")
SCHEMA = IndexSchema("tiny", "f" * 16, (paper_vector("prx", 16, "cosine"), PASSAGES))
DISK = "cluster.routing.allocation.disk"
BREAKER = "knn.memory.circuit_breaker"
NODE = {
    "name": "n1",
    "roles": ["data_hot", "master"],
    "os": {"mem": {"total_in_bytes": 10 * GIB}},
    "jvm": {"mem": {"heap_max_in_bytes": 4 * GIB}},
    "fs": {"total": {"total_in_bytes": 100 * GIB, "available_in_bytes": 50 * GIB}},
}
SETTINGS = {f"{DISK}.watermark.low": "85%", f"{DISK}.watermark.high": "90%", f"{DISK}.watermark.flood_stage": "95%"}


class Told:
    """A cluster that answers by method and path, and keeps the parameters and bodies it was asked with."""

    url = "http://cluster:9200"

    def __init__(self, kind, answers):
        self.product, self.answers, self.asked, self.explained = PRODUCTS[kind], answers, {}, []

    def call(self, method, path, body=None, *, params=None, **_habits):
        self.asked[f"{method} {path}"] = params, body
        self.explained += [body] if path == "/_cluster/allocation/explain" else []
        answer = self.answers.get(path, {})
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, tuple):
            raise failure(self.url, *answer)
        return answer


def generations(kind, **settings):
    body = body_of(SCHEMA, "source", dialect_of(PRODUCTS[kind]), 2)
    own = {**body["settings"]["index"], **SERVING, "uuid": "u", **settings}
    facts = {"mappings": body["mappings"], "settings": {"index": own}, "aliases": {"papers": {}}}
    return read_generations(
        {"ses.papers.v2": facts, "ses.papers.v1": {"aliases": {"ses.papers.previous": {}}}, "ses.papers.v3": {}}
    )


def row(shard, prirep, state="STARTED", store="1000"):
    return {"index": "ses.papers.v2", "shard": shard, "prirep": prirep, "state": state, "store": store}


PLUGINS = ("knn", "neural-search", "x")


def answers(**more):
    counted = {"vector_prx": {"doc_count": 20}, "vector_clf": {"doc_count": 20}, "clf": {"doc_count": 55}}
    return {
        "/_cluster/health": {"cluster_name": "c", "status": "green"},
        "/_cat/plugins": [{"component": f"opensearch-{name}", "version": "3.6.0.0"} for name in PLUGINS],
        "/_license": {"license": {"type": "basic", "status": "active"}},
        "/_nodes/stats/os,jvm,fs": {"nodes": {"x": NODE}},
        "/_cluster/settings": {
            "defaults": {**SETTINGS, f"{BREAKER}.limit": "50%", f"{DISK}.watermark.low": "1%"},
            "persistent": {f"{DISK}.watermark.low": "2%"},
            "transient": {f"{DISK}.watermark.low": "85%"},
        },
        "/ses.papers.v2/_search": {"hits": {"total": {"value": 20}}, "aggregations": counted},
        "/_cat/shards/ses.papers.v2": [row("0", "p"), row("1", "p", "RELOCATING")],
        **more,
    }  # fmt: skip


def diagnosed(kind="opensearch", attachments=(), settings=None, **more):
    cluster = Told(kind, answers(**more))
    found = diagnose(cluster, dialect_of(PRODUCTS[kind]), generations(kind, **(settings or {})), attachments)
    return found, cluster


VECTORS = estimate(16, "none", 20, 16) + estimate(8, "none", 55, 16)
OWN_LINES = {
    "opensearch": (
        "plugin opensearch-knn 3.6.0.0, plugin opensearch-neural-search 3.6.0.0",
        "licence: Apache-2.0, which needs no key",
    ),
    "elasticsearch": ("licence: basic",),
}
"""What a report says of one product alone."""


@pytest.mark.parametrize("kind", PRODUCTS)
def test_a_cluster_without_troubles(kind):
    found, cluster = diagnosed(kind)
    opensearch = kind == "opensearch"
    assert "An interrupted build of the index papers has left version 3" in found.troubles[0]
    assert len(found.troubles) == 1
    assert found.lines == (
        "cluster c: green",
        *OWN_LINES[kind],
        "node n1: 4.0 GiB heap and 6.0 GiB beside it; disk 50.0 GiB of 100.0 GiB free",
        "disk watermarks: low 85%, high 90%, flood stage 95%",
        f"memory: vectors take about {human_bytes(VECTORS)} of 6.0 GiB",
        "memory: faiss may take 3.0 GiB",
    )
    assert (found.product, found.version) == (PRODUCTS[kind].name.partition(" ")[0], PRODUCTS[kind].number)
    details = found.details
    assert (details["name"], details["status"], details["licence_active"]) == ("c", "green", True)
    assert details["nodes"][0]["holds_data"] is True
    assert "BM25 with k1 1.2, b 0.75" in found.indexes[0].lines
    assert (details["memory_bytes"], details["vectors_bytes"]) == (6 * GIB, VECTORS)
    assert (details["native_limit"], details["native_full"]) == (3 * GIB, False)
    assert details["watermarks"]["low"] == {"value": "85%", "headroom": ""}
    assert details["plugins"] == (
        {f"opensearch-{name}": "3.6.0.0" for name in ("knn", "neural-search")} if opensearch else {}
    )
    assert found.joins == ("ses", "engine")
    (index,) = found.indexes
    assert (index.generation, index.previous, index.leftovers, index.papers) == (2, 1, (3,), 20)
    assert [(one.field, one.dimension, one.count) for one in index.vectors] == [("prx", 16, 20), ("clf", 8, 20)]
    assert (index.model, index.fingerprint, index.quantization, index.disk_bytes) == ("tiny", "f" * 16, "none", 2_000)
    assert index.details["shards"] == {
        "primaries": 2, "replicas": 0, "started": 2, "unassigned": (), "store_bytes": 2_000
    }  # fmt: skip
    assert index.details["memory_bytes"] == VECTORS
    assert (index.details["refresh_interval"], index.details["blocks"]) == ("1s", [])
    assert index.details["bm25"] == {"k1": 1.2, "b": 0.75}
    assert index.details["mapping_unchanged"] is True
    assert {"refreshed every 1s", "2 shards, 0 replicas"} <= set(index.lines)
    # What it asked, and by which parameters.
    asked = cluster.asked
    assert asked["GET /_nodes/stats/os,jvm,fs"] == ({"filter_path": FILTER}, None)
    assert asked["GET /_cluster/settings"] == ({"include_defaults": True, "flat_settings": True}, None)
    columns = "index,shard,prirep,state,store"
    assert asked["GET /_cat/shards/ses.papers.v2"] == ({"format": "json", "bytes": "b", "h": columns}, None)
    whole, body = asked["POST /ses.papers.v2/_search"]
    assert whole == {"allow_partial_search_results": False}
    nested = {"path": "vector_clf", "query": {"exists": {"field": "vector_clf.vector"}}, "score_mode": "max"}
    assert body == {
        "size": 0,
        "track_total_hits": True,
        "aggs": {
            "vector_prx": {"filter": {"exists": {"field": "vector_prx"}}},
            "vector_clf": {"filter": {"nested": nested}},
            "clf": {"nested": {"path": "vector_clf"}},
        },
    }
    assert ("GET /_cat/plugins" in asked, "GET /_license" in asked) == (opensearch, not opensearch)
    if not opensearch:
        (weighted, _) = asked["POST /ses.*/_search"][1]["retriever"]["linear"]["retrievers"]
        nothing = {"standard": {"query": {"match_none": {}}}}
        assert weighted == {"retriever": nothing, "weight": 1.0, "normalizer": "minmax"}


REFUSED = error(403, "security_exception", "no rights")
LOST = [row("0", "p"), row("1", "p", "UNASSIGNED", None), row("0", "r", "UNASSIGNED", None), row("1", "r")]
PLACED = {"/_cat/shards/ses.papers.v2": LOST, "/_cluster/allocation/explain": {"can_allocate": "throttled"}}
FEWER = {"hits": {"total": {"value": 20}}, "aggregations": {"vector_prx": {"doc_count": 19}}}


def nodes(**changed):
    return {"/_nodes/stats/os,jvm,fs": {"nodes": {"x": {**NODE, **changed}}}}


def persistent(**changed):
    return {"/_cluster/settings": {"persistent": changed}}


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"/_cluster/health": {"cluster_name": "c", "status": "red"}}, "The cluster c is red: indexes of others lack"),
        ({"/_cat/plugins": []}, "lacks the plugin opensearch-knn"),
        (
            nodes(os={"mem": {"total_in_bytes": 4 * GIB + 10}}),
            "take about .* of memory and the nodes have 10 bytes beside their heaps, so searches wait",
        ),
        (
            nodes(fs={"total": {"total_in_bytes": 100, "available_in_bytes": 4}}),
            "of node n1 is beyond its flood-stage watermark .95%., so its indexes can't be written: 4 bytes of 100",
        ),
        (persistent(**{f"{DISK}.threshold_enabled": "false"}), "does not look at its disks"),
        (persistent(**{"knn.circuit_breaker.triggered": "true"}), "The vectors that faiss keeps take about"),
        ({"/ses.papers.v2/_search": FEWER}, "In the index papers, 1 of 20 papers have no prx vector"),
        (PLACED, "papers, 1 shard of 2 can't be searched .it is being placed; wait a little"),
        (PLACED, "papers, 1 shard of 2 will be lost if a node is: there is no replica .it is being placed"),
        ({"/_cluster/health": REFUSED}, "refuses GET /_cluster/health, so this report is not the whole picture"),
    ],
)
def test_troubles_are_told(changed, told):
    found, _ = diagnosed(**changed)
    assert [one for one in found.troubles if re.search(told, one)], found.troubles


def test_a_lost_shard_is_the_reason_why_a_cluster_is_red():
    found, cluster = diagnosed(**{
        "/_cluster/health": {"cluster_name": "c", "status": "red"}, "/_cat/shards/ses.papers.v2": LOST,
    })  # fmt: skip
    assert "indexes of others" not in str(found.troubles)
    assert cluster.explained == [
        {"index": "ses.papers.v2", "shard": 1, "primary": True},
        {"index": "ses.papers.v2", "shard": 0, "primary": False},
    ]
    (index,) = found.indexes
    assert [(one["primary"], one["shards"]) for one in index.details["shards"]["unassigned"]] == [
        (True, (1,)), (False, (0,))
    ]  # fmt: skip
    assert (index.details["shards"]["started"], index.details["memory_bytes"]) == (2, VECTORS)


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"refresh_interval": "-1"}, "The index papers still has the settings for loading"),
        ({"blocks": {"read_only_allow_delete": "true"}}, "because a node's disk was nearly full; free some space"),
        ({"blocks": {"write": True}}, "The index papers was blocked by somebody; set its index.blocks.write to false."),
    ],
)
def test_settings_of_an_index_that_were_changed_are_told(settings, told):
    found, _ = diagnosed(settings=settings)
    assert [one for one in found.troubles if told in one]
    assert not [one for one in diagnosed(settings={"blocks": {"write": "false"}})[0].troubles if "blocked" in one]


@pytest.mark.parametrize(("kind", "joins"), [("opensearch", ("ses",)), ("elasticsearch", ("ses",))])
def test_who_may_not_join_legs_lets_ses_join_them(kind, joins):
    refused = error(403, "security_exception", "current license is non-compliant for [x]")
    found, cluster = diagnosed(kind, **{"/ses.*/_search": refused, "/_cat/plugins": [{"component": "opensearch-knn"}]})
    assert found.joins == joins
    assert not [one for one in found.troubles if "_search" in one]
    nothing = {"standard": {"query": {"match_none": {}}}}
    ranks = {"size": 0, "retriever": {"rrf": {"retrievers": [nothing, nothing]}}}
    asked = {} if kind == "opensearch" else {"POST /ses.*/_search": ({}, ranks)}
    assert {name: one for name, one in cluster.asked.items() if name == "POST /ses.*/_search"} == asked


def test_a_cluster_that_stops_answering_is_an_error():
    with pytest.raises(UnavailableError):
        diagnosed(**{"/_cluster/health": unanswered("http://cluster:9200")})


def test_what_is_not_known_is_no_trouble():
    refused = ["/_cluster/settings", "/_cat/plugins", "/_nodes/stats/os,jvm,fs", "/_cat/shards/ses.papers.v2"]
    found, _ = diagnosed(**dict.fromkeys(refused, REFUSED))
    assert (found.details["plugins"], found.details["watermarks"], found.details["nodes"]) == (None, None, ())
    assert (found.details["native_limit"], found.details["memory_bytes"]) == (None, 0)
    assert len([one for one in found.troubles if "refuses" in one]) == 4
    assert len(found.troubles) == 5  # and what an interrupted build has left


@pytest.mark.parametrize(
    ("age", "process", "written"),
    [(0, 1, True), (1_000, 1, False), (0, 2**22 + 1, False), (0, None, True)],  # a process of that number can't be
)
def test_a_version_that_somebody_builds_is_not_left_over(age, process, written):
    source = {"host": here() if process else "another", "process": process or 1, "renewed": time.time() - age}
    found, _ = diagnosed(**{f"/{INDEX}/_doc/papers": {"_source": {**source, "holder": "x"}}})
    assert found.indexes[0].details["being_written"] is written
    assert bool(found.troubles) is not written


def test_an_index_without_an_earlier_version_has_none():
    cluster = Told("opensearch", answers())
    only = [one for one in generations("opensearch") if one.published]
    (index,) = diagnose(cluster, dialect_of(PRODUCTS["opensearch"]), only).indexes
    assert (index.generation, index.previous, index.leftovers) == (2, None, ())


@pytest.mark.parametrize("level", ["150%", "-1%", "1.5x", ""])
def test_a_watermark_that_is_no_share_and_no_size_is_not_known(level):
    assert Watermark(level).free_bytes(100) is None


def test_an_expired_licence_is_told():
    found, _ = diagnosed("elasticsearch", **{"/_license": {"license": {"type": "trial", "status": "expired"}}})
    assert "The licence trial of the cluster is not valid any more; renew it." in found.troubles
    assert (found.details["licence"], found.details["licence_active"]) == ("trial", False)


def attached(documents, having, hits=(), **made):
    properties = {"headline": {}, "ses": {"properties": {"hash": {"type": "keyword"}, "prx_f": {"type": "knn_vector"}}}}
    stored = {"_all": {"total": {"store": {"size_in_bytes": 9}}}}
    page = {"timed_out": False, "_shards": SHARDS, "_scroll_id": "s"}
    total = {"value": len(hits)}
    replies = {
        "/shelves/_mapping": {"a": {"mappings": {"properties": properties}}},
        "/shelves/_stats/store": stored,
        "/shelves/_search": {**page, "hits": {"total": total, "hits": [*hits]}},
        "/_search/scroll": {**page, "hits": {"total": total, "hits": []}},
    }
    cluster = Told("opensearch", answers(**replies))

    def call(method, path, body=None, **habits):
        if path == "/shelves/_count":
            return {"count": documents if body["query"] == {"match_all": {}} else having, "_shards": SHARDS}
        return Told.call(cluster, method, path, body, **habits)

    cluster.call = call
    kept = replace(attachment(), **made)
    return diagnose(cluster, dialect_of(PRODUCTS["opensearch"]), [], [kept]).indexes[0]


def test_an_attached_index_is_told_with_what_lacks_vectors():
    whole = attached(7, 7)
    assert (whole.papers, whole.disk_bytes, whole.troubles, whole.generation) == (7, 9, (), 1)
    assert whole.lines == ("attached to shelves, vectors in its documents",)
    assert (whole.details["attached_to"], whole.details["beside"]) == ("shelves", "")
    hits = [{"_id": "a", "_source": {"headline": "A"}}, {"_id": "b", "_source": {}}, {"_id": "c", "_source": {}}]
    some = attached(10, 7, hits)
    assert some.details["no_papers"] == 2
    told = "documents that are no papers, so that no update gives them a vector: 2 (The record has neither title nor "
    assert some.lines[-1] == f"{told}abstract)"
    late = "In the attached index catalogue, 1 of 10 documents have no vector; attach it with <update>."
    assert some.troubles == (late,)
    (many,) = attached(30_000, 7, hits).troubles
    assert many.endswith("attach it with <update>, which lists those that are no papers.")
    none = attached(9, 9, schema=replace(attachment().schema, vectors=()))
    assert (none.papers, none.troubles) == (9, ())
