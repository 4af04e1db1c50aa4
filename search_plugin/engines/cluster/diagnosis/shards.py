"""The shards of an index: how many there are, and why some are on no node, in plain words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from search_plugin.engines.cluster.diagnosis.nodes import dig, whole


@dataclass(frozen=True, slots=True)
class Unassigned:
    """Shards on no node, for the same reason.

    Attributes:
        primary: Whether they are the first copies, without which papers can't be found.
        shards: Their numbers.
        why: And what to do.
    """

    primary: bool
    shards: tuple[int, ...]
    why: str


@dataclass(frozen=True, slots=True)
class Shards:
    """Those of one index.

    Attributes:
        primaries: Parts the index is cut into.
        replicas: Further copies of all parts together, placed or not.
        started: Copies of either kind that are on a node and at work.
        unassigned: Those on no node.
        store_bytes: Of all copies.
    """

    primaries: int
    replicas: int
    started: int
    unassigned: tuple[Unassigned, ...]
    store_bytes: int


Explain = Callable[[int, bool], str]
"""Says why a shard, primary or replica, is on no node."""

COLUMNS = "index,shard,prirep,state,store"
"""What `read_shards` reads of a cluster's `_cat/shards`, sizes in bytes."""

_WAIT = "it is being placed; wait a little"
_STATES = {
    "yes": _WAIT,
    "throttled": _WAIT,
    "awaiting_info": _WAIT,
    "allocation_delayed": "a node has left a moment ago and may come back; wait a little, or start it again",
    "no_valid_shard_copy": "every node that had a copy is gone; start them again, or index again with --fresh",
    "no_attempt": _WAIT,
}
_DECIDERS = {
    "same_shard": "no node is left that has no copy yet; add a node, or set the index's number_of_replicas to 0",
    "disk_threshold": "the disks of the nodes are too full; free some space there",
    "enable": "the cluster may not place shards now; set cluster.routing.allocation.enable to all",
    "filter": "rules keep it from the nodes; change cluster.routing.allocation or the index's routing.allocation",
    "data_tier": "no node is of the data tier it belongs to; give one the role data_content",
    "awareness": "copies must lie in different zones and one is missing; add a node there",
    "shards_limit": "the nodes hold as many shards as they may; raise total_shards_per_node, or add a node",
    "max_retry": "the cluster gave up after several attempts; look into its log, then POST /_cluster/reroute?"
    "retry_failed=true",
    "node_version": "the nodes left are of an older version than the first copy's; upgrade them all",
    "replica_after_primary_active": "the first copy is not at work yet; wait, or see to that one",
}
"""What keeps a shard from a node, by the names both products give their rules, the most telling first."""


def read_shards(rows: Iterable[Mapping[str, Any]], explain: Explain) -> Shards:
    """Read the shards of one index.

    Args:
        rows: Of `_cat/shards`, of that index.
        explain: Asked once for primaries and once for replicas that are on no node.

    Returns:
        Their counts, and those on no node.
    """
    kept = list(rows)
    missing = []
    for kind in ("p", "r"):
        numbers = {whole(row.get("shard")) for row in kept if _is(row, kind) and row.get("state") == "UNASSIGNED"}
        if numbers:
            missing.append(Unassigned(kind == "p", tuple(sorted(numbers)), explain(min(numbers), kind == "p")))
    return Shards(
        primaries=sum(_is(row, "p") for row in kept),
        replicas=sum(_is(row, "r") for row in kept),
        started=sum(row.get("state") in ("STARTED", "RELOCATING") for row in kept),
        unassigned=tuple(missing),
        store_bytes=sum(whole(row.get("store")) for row in kept),
    )


def plain_reason(explanation: Mapping[str, Any]) -> str:
    """Return why a shard is on no node and what to do.

    Args:
        explanation: A cluster's `_cluster/allocation/explain`.

    Returns:
        A clause without a full stop.
    """
    state = str(explanation.get("can_allocate", ""))
    if state in _STATES:
        return _STATES[state]
    nodes = explanation.get("node_allocation_decisions") or ()
    refusing = {
        str(decider.get("decider"))
        for node in nodes
        for decider in node.get("deciders", ())
        if decider.get("decision") == "NO"
    }
    # Where a node is ruled out by having a copy, another's reason is the one that something can be done about.
    told = [_DECIDERS[name] for name in _DECIDERS if name in refusing]
    if len(told) > 1 and "same_shard" in refusing:
        told.remove(_DECIDERS["same_shard"])
    if told:
        return told[0]
    failed = dig(explanation, "unassigned_info").get("details")
    reason = " ".join(str(failed or explanation.get("allocate_explanation") or "the cluster does not say why").split())
    return f"{reason[:300].rstrip('.')}; GET /_cluster/allocation/explain says more"


def _is(row: Mapping[str, Any], kind: str) -> bool:
    return str(row.get("prirep", "")).startswith(kind)
