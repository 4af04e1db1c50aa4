"""A cluster is loaded with one group of settings and serves with another."""

from __future__ import annotations

import time

from tests.engines.conftest import SCHEMA, documents, every_version


def settings(server, physical):
    reply = server.cluster.call("GET", f"/{physical}/_settings", params={"flat_settings": True})
    return reply[physical]["settings"]


def segments(server, physical):
    server.cluster.call("POST", f"/{physical}/_refresh")
    rows = server.cluster.call("GET", f"/_cat/segments/{physical}", params={"format": "json"})
    return sum(row["prirep"] == "p" and row["searchable"] == "true" for row in rows)


@every_version
def test_what_was_loaded_in_parts_is_merged_into_one_and_copied(server):
    index = server.build("papers", SCHEMA, "source")
    for start in range(0, 200, 20):
        index.upsert(documents(200)[start : start + 20])
    loading = settings(server, index.physical)
    assert loading["index.refresh_interval"] == "-1"
    assert loading["index.auto_expand_replicas"] == "false"
    assert segments(server, index.physical) > 5
    index.finish()
    serving = settings(server, index.physical)
    assert serving["index.refresh_interval"] == "1s"
    assert serving["index.auto_expand_replicas"] == "0-1"
    assert serving["index.merge.policy.segments_per_tier"] == "10"
    until = time.monotonic() + 30
    while segments(server, index.physical) > 1:
        assert time.monotonic() < until
        time.sleep(0.1)
    assert index.count() == 200


def test_changes_of_a_live_index_are_not_merged_each_time(server):
    index = server.build("papers", SCHEMA, "source")
    index.upsert(documents(100))
    index.finish()
    server.publish(index)
    live = server.open("papers")
    live.upsert(documents(200)[100:])
    live.finish()
    assert settings(server, live.physical)["index.refresh_interval"] == "1s"
    assert segments(server, live.physical) == 2
