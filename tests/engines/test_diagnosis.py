"""What `ses doctor` is told by every engine, and by clusters in trouble."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace

import pytest

from corpora.errors import InputError
from search_plugin.contract.connection import Connection
from search_plugin.contract.diagnosis import human_bytes
from search_plugin.engines.cluster.diagnosis.indexes import estimate
from search_plugin.engines.cluster.dialects import dialect_of
from search_plugin.engines.cluster.mapping import SERVING, body_of
from search_plugin.engines.cluster.product import Product
from search_plugin.engines.registry import connect
from tests.conftest import server_url
from tests.engines.conftest import (
    NEWEST_CLUSTERS,
    SCHEMA,
    another,
    documents,
    empty,
    every_stored,
    every_version,
    stored,
)
from tests.engines.pretender import Answer, pretend, version

GIB = 1 << 30
DISK = "cluster.routing.allocation.disk"


@pytest.fixture(params=NEWEST_CLUSTERS)
def server(request):
    """A cluster without indexes of ses, asked for two shards an index."""
    engine = connect(server_url(request.param), Connection(shards=2))
    empty(engine)
    yield engine
    empty(engine)


def publish(engine, name="a", count=20, schema=SCHEMA, source="source"):
    index = engine.build(name, schema, source)
    index.upsert(documents(count))
    index.finish()
    engine.publish(index)
    return index


def put(server, index, body):
    server.cluster.call("PUT", f"/ses.{index}/_settings", body)


def troubles(engine, about, name=None):
    return [trouble for trouble in engine.diagnose(name).troubles if about in trouble]


@every_stored
def test_every_engine_tells_its_indexes(engine):
    publish(engine)
    publish(engine, count=30)
    left = engine.build("a", SCHEMA, "another source")
    publish(engine, "b", 7)
    engine.build("never", SCHEMA, "source")
    found = {index.name: index for index in engine.diagnose().indexes}
    assert list(found) == ["a", "b", "never"]
    a = found["a"]
    assert (a.generation, a.previous, a.leftovers, a.papers) == (2, 1, (left.generation,), 30)
    assert (a.model, a.fingerprint, a.quantization) == (SCHEMA.model, SCHEMA.fingerprint, "none")
    assert [(v.field, v.dimension, v.count) for v in a.vectors] == [("prx", 16, 30), ("clf", 8, 30)]
    assert a.disk_bytes > 0
    assert (found["b"].papers, found["b"].previous, found["b"].leftovers) == (7, None, ())
    assert (found["never"].generation, found["never"].leftovers) == (None, (1,))
    assert [line.split(";")[0] for line in troubles(engine, "interrupted")] == [
        "An interrupted build of the index a has left version 3",
        "An interrupted build of the index never has left version 1",
    ]
    assert [index.name for index in engine.diagnose("b").indexes] == ["b"]
    assert "ses" in engine.diagnose("b").joins
    with pytest.raises(InputError, match="no index 'c'"):
        engine.diagnose("c")


@stored
def test_a_build_under_way_is_no_leftover(engine):
    with engine.lock("a"):
        engine.build("a", SCHEMA, "source")
        (index,) = another(engine).diagnose().indexes
        assert (index.leftovers, index.details["being_written"]) == ((1,), True)
        assert troubles(another(engine), "interrupted") == []
    assert len(troubles(engine, "interrupted")) == 1


def test_asking_changes_nothing(server):
    index = publish(server)
    put(server, "a.v1", {"index": {"refresh_interval": "-1"}})
    index.upsert(documents(25))
    before = server.cluster.call("GET", "/ses.*")
    (seen,) = server.diagnose().indexes
    assert seen.papers == 20  # what was not refreshed is not seen
    assert server.cluster.call("GET", "/ses.*") == before
    assert "settings for loading" in troubles(server, "index the same papers again")[0]


@every_version
def test_a_whole_cluster_has_no_troubles_but_its_disks(server):
    publish(server)
    diagnosis = server.diagnose()
    assert [trouble for trouble in diagnosis.troubles if "disk" not in trouble] == []
    (index,) = diagnosis.indexes
    shards = index.details["shards"]
    assert (shards["primaries"], shards["replicas"], shards["started"], shards["unassigned"]) == (2, 0, 2, ())
    expected = estimate(16, "none", 20, 16) + estimate(8, "none", 20, 16)
    assert index.details["memory_bytes"] == diagnosis.details["vectors_bytes"] == expected
    assert 0 < expected < diagnosis.details["memory_bytes"]
    assert index.details["memory_bytes_by_quantization"]["1bit"] < expected
    assert index.details["mapping_unchanged"]
    assert diagnosis.details["status"] == "green"
    opensearch = server.cluster.product.kind == "opensearch"
    assert ("opensearch-knn" in (diagnosis.details["plugins"] or {})) == opensearch
    assert (diagnosis.details["native_limit"] is not None) == opensearch
    assert diagnosis.details["licence"] == ("Apache-2.0, which needs no key" if opensearch else "basic")


@every_version
def test_replicas_that_cannot_be_placed(server):
    publish(server)
    put(server, "a.v1", {"index": {"auto_expand_replicas": "false", "number_of_replicas": 1}})
    (told,) = troubles(server, "there is no replica")
    assert told.startswith("Of the index a, 2 shards of 2 ")
    assert "no node is left that has no copy yet; add a node, or set the index's number_of_replicas to 0" in told
    assert server.diagnose().details["status"] == "yellow"


@every_version
@pytest.mark.parametrize(
    ("block", "advice"),
    [
        ("read_only_allow_delete", "because a node's disk was nearly full"),
        ("write", "set its index.blocks.write to false"),
    ],
)
def test_blocks(server, block, advice):
    publish(server)
    put(server, "a.v1", {f"index.blocks.{block}": True})
    try:
        assert len(troubles(server, advice, "a")) == 1
        (index,) = server.diagnose("a").indexes
        assert (index.details["blocks"], index.papers) == ([block], 20)
    finally:
        put(server, "a.v1", {f"index.blocks.{block}": None})
    assert troubles(server, advice, "a") == []


@contextmanager
def disk_settings(server, values):
    """Set them, and afterwards what was set before."""
    keys = [f"{DISK}.threshold_enabled", *(f"{DISK}.watermark.{name}" for name in ("low", "high", "flood_stage"))]
    before = server.cluster.call("GET", "/_cluster/settings", params={"flat_settings": True})["persistent"]
    server.cluster.call("PUT", "/_cluster/settings", {"persistent": dict(zip(keys, values, strict=True))})
    try:
        yield
    finally:
        restored = {key: before.get(key) for key in keys}
        server.cluster.call("PUT", "/_cluster/settings", {"persistent": restored})


@every_version
def test_a_watermark_that_is_passed(server):
    with disk_settings(server, (True, "0.1%", "99.8%", "99.9%")):
        (told,) = troubles(server, "watermark")
        assert "beyond its low watermark (0.1%)" in told
    with disk_settings(server, (True, "900tb", "1b", "1b")):
        (told,) = troubles(server, "watermark")
        assert "beyond its low watermark (900tb)" in told
    with disk_settings(server, (True, "3b", "2b", "1b")):
        assert troubles(server, "disk") == []
    with disk_settings(server, (False, "3b", "2b", "1b")):
        assert "does not look at its disks" in troubles(server, "threshold_enabled to true")[0]


def test_a_mapping_that_was_changed(server):
    publish(server)
    server.cluster.call("PUT", "/ses.a.v1/_mapping", {"dynamic": "true"})
    assert len(troubles(server, "mapping of the index a")) == 1
    (index,) = server.diagnose().indexes
    assert (index.details["mapping_unchanged"], index.papers) == (False, 20)


def test_an_index_that_cannot_be_understood_is_told_beside_the_others(server):
    publish(server)
    publish(server, "b")
    server.cluster.call("PUT", "/ses.b.v1/_mapping", {"_meta": {"ses": {"schema": {"vectors": "?"}}}})
    found = {index.name: index for index in server.diagnose().indexes}
    assert (found["a"].papers, found["b"].model) == (20, "")
    assert "damaged" in troubles(server, "The index b")[0]


def test_papers_without_vectors(server):
    index = publish(server)
    document = {"id": "x", "title": "virus"}
    server.cluster.call("PUT", f"/{index.physical}/_doc/x", document, params={"refresh": "true"})
    assert "1 of 21 papers have no prx vector" in troubles(server, "no prx vector")[0]


@every_version
def test_quantized_vectors_take_less(server):
    schema = replace(SCHEMA, quantization="int8")
    publish(server, schema=schema)
    (index,) = server.diagnose().indexes
    assert index.quantization == "int8"
    assert index.details["memory_bytes"] == estimate(16, "int8", 20, 16) + estimate(8, "int8", 20, 16)


def many_papers(schema, product):
    """What a cluster answers that holds a hundred million papers on a node of 8 GiB, one of its shards lost."""
    dialect = dialect_of(product)
    body = body_of(schema, "source", dialect, 1)
    body["settings"]["index"] |= SERVING
    node = {
        "name": "n",
        "roles": ["data"],
        "os": {"mem": {"total_in_bytes": 8 * GIB}},
        "jvm": {"mem": {"heap_max_in_bytes": 4 * GIB}},
    }
    rows = [
        {"index": "ses.a.v1", "shard": "0", "prirep": "p", "state": "STARTED", "store": "1000"},
        {"index": "ses.a.v1", "shard": "0", "prirep": "r", "state": "STARTED", "store": "1000"},
        {"index": "ses.a.v1", "shard": "1", "prirep": "p", "state": "UNASSIGNED", "store": None},
        {"index": "ses.a.v1", "shard": "1", "prirep": "r", "state": "STARTED", "store": "1000"},
    ]
    counted = {vector.name: {"doc_count": 10**8} for vector in schema.vectors}
    breaker = {"knn.memory.circuit_breaker.limit": "50%", "knn.memory.circuit_breaker.enabled": "true"}
    return {
        "/": version(product.number, product.kind),
        "/ses.*.v*": Answer({"ses.a.v1": {"aliases": {"a": {}}, **body}}),
        "/ses.a.v1/_search": Answer({"hits": {"total": {"value": 10**8}}, "aggregations": counted}),
        "/_cat/shards/ses.a.v1": Answer(rows),
        "/_cluster/allocation/explain": Answer({"can_allocate": "no_valid_shard_copy"}),
        "/_cat/plugins": Answer([{"component": "opensearch-knn", "version": product.number}]),
        "/_nodes/stats/os,jvm,fs": Answer({"nodes": {"x": node}}),
        "/_cluster/settings": Answer({"defaults": breaker if product.kind == "opensearch" else {}}),
        "/_cluster/health": Answer({"cluster_name": "c", "status": "red"}),
        "/_license": Answer({"license": {"type": "trial", "status": "expired"}}),
    }


def test_too_little_memory_for_faiss_and_a_lost_shard():
    schema = replace(SCHEMA, quantization="int4")
    with pretend(many_papers(schema, Product("opensearch", "3.1.0", (3, 1)))) as server:
        diagnosis = connect(server.url).diagnose()
    (index,) = diagnosis.indexes
    expected = 3 * (estimate(16, "int4", 10**8, 16) + estimate(8, "int4", 10**8, 16)) // 2
    assert index.details["memory_bytes"] == expected
    short, native, lost = diagnosis.troubles[-3:]
    assert f"take about {human_bytes(expected)} of memory and the nodes have 4.0 GiB beside" in short
    assert (
        f"{human_bytes(expected)} and the cluster allows it 2.0 GiB; raise knn.memory.circuit_breaker.limit" in native
    )
    assert lost.startswith("Of the index a, 1 shard of 2 can't be searched (every node that had a copy is gone")
    assert diagnosis.joins == ("ses",)  # without the plugin neural-search
    assert index.disk_bytes == 3000


def test_vectors_that_lucene_keeps_do_not_count_against_the_limit_of_faiss():
    schema = replace(SCHEMA, quantization="int8")
    with pretend(many_papers(schema, Product("opensearch", "3.1.0", (3, 1)))) as server:
        found = connect(server.url).diagnose()
    assert found.details["native_limit"] == 2 * GIB
    assert found.details["vectors_bytes"] > 2 * GIB
    assert "circuit_breaker" not in str(found.troubles)


@pytest.mark.slow
def test_a_licence_that_ran_out_and_retrievers_that_work():
    with pretend(many_papers(SCHEMA, Product("elasticsearch", "8.18.0", (8, 18)))) as server:
        diagnosis = connect(server.url).diagnose()
    assert "The licence trial of the cluster is not valid any more" in diagnosis.troubles[0]
    assert "circuit_breaker" not in str(diagnosis.troubles)
    assert diagnosis.joins == ("ses", "engine")


def test_what_may_not_be_asked_is_told_and_the_rest_goes_on():
    answers = many_papers(SCHEMA, Product("opensearch", "2.19.0", (2, 19)))
    refusal = Answer({"error": {"type": "security_exception", "reason": "no permissions"}, "status": 403}, 403)
    refused = ["/_cluster/settings", "/_cat/plugins", "/_nodes/stats/os,jvm,fs", "/_cluster/health"]
    with pretend(answers | dict.fromkeys(refused, refusal)) as server:
        diagnosis = connect(server.url).diagnose()
    assert diagnosis.indexes[0].papers == 10**8
    told = [trouble for trouble in diagnosis.troubles if "not the whole picture" in trouble]
    assert len(told) == 4
    assert all("ask for a user or key that may" in line for line in told)
    assert len(diagnosis.troubles) == 5  # and the lost shard: what is not known is no trouble


def test_a_plugin_that_is_missing():
    answers = many_papers(SCHEMA, Product("opensearch", "2.19.0", (2, 19)))
    with pretend(answers | {"/_cat/plugins": Answer([])}) as server:
        assert "lacks the plugin opensearch-knn" in connect(server.url).diagnose().troubles[0]


def test_a_paper_without_a_vector_is_told():
    answers = many_papers(SCHEMA, Product("opensearch", "2.19.0", (2, 19)))
    fewer = {field.name: {"doc_count": 10**8 - (field.format == "clf")} for field in SCHEMA.vectors}
    reply = Answer({"hits": {"total": {"value": 10**8}}, "aggregations": fewer})
    with pretend(answers | {"/ses.a.v1/_search": reply}) as server:
        (told,) = troubles(connect(server.url), "vector; index again with <fresh>")
    assert told == "In the index a, 1 of 100,000,000 papers have no clf vector; index again with <fresh>."
