"""What searches of a cluster's index see, as a short text.

A shard gives each write the next number of a sequence, and every document keeps the number of its last write. So the
count and the sum of the numbers that a search of one shard sees tell exactly what it sees: whatever replaces something
has a higher number. Where a paper is written and then deleted, both are what they were before. Sums are exact up to
2**53, which a shard of 30 million papers reaches after 300 million writes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from search_plugin.engines.cluster.dialect import as_json

_INDEXES = 1_000
"""Most indexes behind one alias whose papers count."""


def body(shards: int) -> bytes:
    """Return the searches that ask each shard what it sees, as the lines of one request."""
    numbers = {"numbers": {"stats": {"field": "_seq_no"}}}
    one = {"size": 0, "aggs": {"indexes": {"terms": {"field": "_index", "size": _INDEXES}, "aggs": numbers}}}
    headers = ({"preference": f"_shards:{shard}", "allow_partial_search_results": False} for shard in range(shards))
    return b"\n".join([line for header in headers for line in (as_json(header), as_json(one))] + [b""])


def read(generation: int, uuids: Mapping[str, str], replies: Sequence[Mapping[str, Any]]) -> str:
    """Return the revision: the generation of the index, and a hash of the rest.

    The rest is the cluster's own id of each index by its name, since one that was deleted and made again has another,
    and what each shard sees.
    """
    seen = [
        sorted((bucket["key"], bucket["doc_count"], bucket["numbers"]["sum"]) for bucket in _buckets(reply))
        for reply in replies
    ]
    content = as_json({"uuids": sorted(uuids.items()), "shards": seen})
    return f"{generation}-{hashlib.blake2b(content, digest_size=8).hexdigest()}"


def _buckets(reply: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    found: Sequence[Mapping[str, Any]] = reply["aggregations"]["indexes"]["buckets"]
    return found
