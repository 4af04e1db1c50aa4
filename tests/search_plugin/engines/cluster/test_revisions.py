"""What searches of a cluster see, as a short text that changes with it."""

from __future__ import annotations

import json

from search_plugin.engines.cluster.revisions import body, read

UUIDS = {"papers.v1": "u1", "papers.v2": "u2"}


def shard(**numbers):
    return {
        "aggregations": {
            "indexes": {
                "buckets": [
                    {"key": name, "doc_count": count, "numbers": {"sum": total}}
                    for name, (count, total) in numbers.items()
                ]
            }
        }
    }


def test_each_shard_is_asked_by_itself():
    *lines, last = body(2).split(b"\n")
    assert last == b""
    numbers = {"numbers": {"stats": {"field": "_seq_no"}}}
    search = {"size": 0, "aggs": {"indexes": {"terms": {"field": "_index", "size": 1_000}, "aggs": numbers}}}
    assert [json.loads(line) for line in lines] == [
        {"preference": "_shards:0", "allow_partial_search_results": False},
        search,
        {"preference": "_shards:1", "allow_partial_search_results": False},
        search,
    ]


def test_a_revision_changes_with_all_that_is_seen_and_with_nothing_else():
    replies = [shard(a=(3, 10.0), b=(1, 5.0)), shard(a=(2, 7.0))]
    first = read(4, UUIDS, replies)
    number, _, digest = first.partition("-")
    assert (number, len(digest)) == ("4", 16)
    assert read(4, dict(reversed(UUIDS.items())), [shard(b=(1, 5.0), a=(3, 10.0)), replies[1]]) == first
    others = [
        read(5, UUIDS, replies),
        read(4, {**UUIDS, "papers.v2": "u3"}, replies),
        read(4, UUIDS, [shard(a=(3, 11.0), b=(1, 5.0)), replies[1]]),
        read(4, UUIDS, [shard(a=(4, 10.0), b=(1, 5.0)), replies[1]]),
        read(4, UUIDS, [shard(a=(3, 10.0), c=(1, 5.0)), replies[1]]),
        read(4, UUIDS, replies[::-1]),
    ]
    assert len({first, *others}) == len(others) + 1
