"""What is read of a cluster's disks, nodes and shards."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from search_plugin.engines.cluster.diagnosis.diagnose import (
    Watermark,
    Watermarks,
    parse_size,
    read_nodes,
    read_watermarks,
    share_or_size,
)
from search_plugin.engines.cluster.diagnosis.indexes import plain_reason

GIB = 1 << 30
DISK = "cluster.routing.allocation.disk"


@given(st.integers(1, 1 << 50), st.floats(0, 1))
def test_a_share_and_the_same_in_bytes_agree(total, share):
    ratio = Watermark(f"{share:.6f}").free_bytes(total)
    percent = Watermark(f"{share * 100:.4f}%").free_bytes(total)
    assert ratio == pytest.approx(total * (1 - share), rel=1e-3, abs=total * 1e-5 + 1)
    assert percent == pytest.approx(ratio, rel=1e-3, abs=total * 1e-5 + 1)
    assert Watermark(f"{ratio}b").free_bytes(total) == ratio


def test_watermarks():
    marks = Watermarks(True, Watermark("85%"), Watermark("90%"), Watermark("10gb"))
    free = {16: "ok", 14: "low", 9.9: "flood_stage"}
    assert {size: marks.level(100 * GIB, int(size * GIB)) for size in free} == free
    assert marks.level(1000 * GIB, 90 * GIB) == "high"
    # On a large disk a share leaves more free than anybody needs, so that a headroom caps it.
    assert Watermark("85%", "200GB").free_bytes(10_000 * GIB) == 200 * GIB
    assert Watermark("85%", "200GB").free_bytes(100 * GIB) == 15 * GIB
    assert Watermark("85%", "-1").free_bytes(10_000 * GIB) == 1500 * GIB
    assert read_watermarks({}).level(100, 0) == "ok"
    assert not read_watermarks({f"{DISK}.threshold_enabled": False}).enabled
    assert [parse_size(text) for text in ("512", "1.5kb", "2GB", "-1", "x", "85%")] == [
        512,
        1536,
        2 * GIB,
        None,
        None,
        None,
    ]
    assert [share_or_size(text, 100) for text in ("50%", "2kb", "?")] == [50, 2048, None]


@pytest.mark.parametrize(
    ("reply", "known"), [({}, 0), ({"nodes": 1}, 0), ({"nodes": {"a": {"os": [], "fs": {"total": "?"}}}}, 1)]
)
def test_a_reply_that_lacks_things_is_read_as_far_as_it_goes(reply, known):
    nodes = read_nodes(reply)
    assert [(node.memory, node.beside_heap, node.holds_data) for node in nodes] == [(0, 0, False)] * known


def test_the_smallest_limit_of_a_container_counts():
    stats = {
        "name": "n",
        "roles": ["data_hot"],
        "os": {"mem": {"total_in_bytes": 8 * GIB}, "cgroup": {"memory": {"limit_in_bytes": str(4 * GIB)}}},
        "jvm": {"mem": {"heap_max_in_bytes": GIB}},
    }
    (node,) = read_nodes({"nodes": {"x": stats}})
    assert (node.beside_heap, node.holds_data) == (3 * GIB, True)


def decided(*deciders):
    rules = [[{"decider": name, "decision": "NO"} for name in node] for node in deciders]
    return {"can_allocate": "no", "node_allocation_decisions": [{"deciders": rule} for rule in rules]}


@pytest.mark.parametrize(
    ("explanation", "part"),
    [
        (decided(["same_shard"]), "add a node"),
        (decided(["same_shard"], ["disk_threshold"]), "free some space"),
        (decided(["same_shard"], ["enable"]), "cluster.routing.allocation.enable"),
        ({"can_allocate": "no_valid_shard_copy"}, "index again with <fresh>"),
        ({"can_allocate": "throttled"}, "wait a little"),
        (decided(["of_the_future"]) | {"allocate_explanation": "The moon is full."}, "The moon is full; GET"),
        ({}, "does not say why"),
        ({"node_allocation_decisions": [{}]}, "does not say why"),
        ({"node_allocation_decisions": [{"deciders": [{"decider": "enable", "decision": "YES"}]}]}, "not say why"),
        ({"unassigned_info": {"details": "x" * 400}}, f"{'x' * 300}; GET /_cluster/allocation/explain says more"),
        ({"can_allocate": "yes"}, "wait a little"),
        ({"can_allocate": "awaiting_info"}, "wait a little"),
        ({"can_allocate": "no_attempt"}, "wait a little"),
        ({"can_allocate": "allocation_delayed"}, "a node left a moment ago"),
        (decided(["same_shard"], ["filter"]), "rules keep it from the nodes"),
        (decided(["same_shard"], ["data_tier"]), "give one the role data_content"),
        (decided(["same_shard"], ["awareness"]), "copies must be in different zones"),
        (decided(["same_shard"], ["shards_limit"]), "raise total_shards_per_node"),
        (decided(["same_shard"], ["max_retry"]), "POST /_cluster/reroute?retry_failed=true"),
        (decided(["same_shard"], ["node_version"]), "upgrade them all"),
        (decided(["same_shard"], ["replica_after_primary_active"]), "the first copy is not at work yet"),
    ],
)
def test_reasons_in_plain_words(explanation, part):
    assert part in plain_reason(explanation)
