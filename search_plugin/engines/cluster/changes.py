"""How far the changes of indexes have come, and which documents were changed since: by the numbers of their writes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from search_plugin.engines.cluster.dialect import QueryBody
from search_plugin.engines.cluster.errors import ClusterError
from search_plugin.engines.cluster.transport import Cluster


class Reached(NamedTuple):
    """How far the changes of an index have come.

    Attributes:
        uuid: The unique id of the index.
        last: The number of the last change of the shard that has the fewest.
        changes: The sum of these numbers over its shards.
    """

    uuid: str
    last: int
    changes: int


def reached(cluster: Cluster, target: str) -> dict[str, Reached]:
    """Return the last change of each index behind a name in a path, by its name.

    Nothing if the user may not see this.
    """
    try:
        reply = cluster.call("GET", f"/{target}/_stats/docs", params={"level": "shards"})
        return {name: _reached(facts) for name, facts in reply["indices"].items()}
    except (ClusterError, KeyError, ValueError):
        return {}


def changed_since(seen: Mapping[str, int], now: Mapping[str, Reached]) -> list[QueryBody]:
    """Return queries, one for each index, for the documents that were changed since numbers that were seen by uuid."""
    queries: list[QueryBody] = []
    for name, one in now.items():
        here: QueryBody = {"term": {"_index": name}}
        since = {"range": {"_seq_no": {"gt": seen.get(one.uuid, -1)}}}
        queries.append({"bool": {"filter": [here, since]}})
    return queries


def _reached(facts: Mapping[str, Any]) -> Reached:
    """Return how far an index has come, from its statistics; `KeyError` or `ValueError` if they do not say it."""
    copies = [one for shard in facts["shards"].values() for one in shard if one["routing"]["primary"]]
    numbers = [int(one["seq_no"]["max_seq_no"]) for one in copies]
    return Reached(str(facts["uuid"]), min(numbers), sum(numbers))
