"""Check that a cluster's reply is complete: a list without the papers of one shard looks like any other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from search_plugin.engines.cluster.errors import ClusterError, cause, failure, short


def check_whole(reply: Mapping[str, Any], *, url: str, name: str) -> None:
    """Check a reply, or each of those of a multiple search.

    Args:
        reply: As the cluster gave it.
        url: Of the cluster, to tell the user.
        name: Of the index, likewise.

    Raises:
        UnavailableError: If it is an error, or the part of a shard is missing.
    """
    for part in reply.get("responses", [reply]):
        if "error" in part:
            raise failure(url, int(part.get("status", 500)), part)
        shards = part.get("_shards", {})
        answered, all_ = shards.get("successful", 0), shards.get("total", 0)
        # A count reports an unassigned shard neither as answered nor as failed.
        if shards.get("failed") or answered < all_ or part.get("timed_out"):
            reason = "it ran out of time" if part.get("timed_out") else _reason_of(shards)
            raise ClusterError(
                f"{url} answered for {answered} of {all_} parts of the index {name} only ({reason}); "
                "wait until the cluster is complete and less busy, and try again."
            )


def _reason_of(shards: Mapping[str, Any]) -> str:
    failures = shards.get("failures") or [{}]
    return short(cause(failures[0].get("reason", ""))[1]) or "the others are on no node"
