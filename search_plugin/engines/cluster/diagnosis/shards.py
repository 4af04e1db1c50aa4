"""The shards of an index: their number, and why some are unassigned, in plain words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from search_plugin.contract.diagnosis import Finding
from search_plugin.engines.cluster.diagnosis.questions import Questions, dig, whole


@dataclass(frozen=True, slots=True)
class Unassigned:
    """Numbers of shards that are unassigned for the same reason; papers of missing primaries can't be found."""

    primary: bool
    shards: tuple[int, ...]
    why: str


@dataclass(frozen=True, slots=True)
class Shards:
    """The shards of one index: primaries, replicas, how many of each are active, and the unassigned ones."""

    primaries: int
    replicas: int
    started: int
    unassigned: tuple[Unassigned, ...]
    store_bytes: int


_WAIT = "it is being placed; wait a little"
_STATES = {
    "yes": _WAIT,
    "throttled": _WAIT,
    "awaiting_info": _WAIT,
    "no_attempt": _WAIT,
    "allocation_delayed": "a node left a moment ago and may come back; wait a little, or start it again",
    "no_valid_shard_copy": "every node that had a copy is gone; start them again, or index again with <fresh>",
}
_DECIDERS = {
    "disk_threshold": "the disks of the nodes are too full; free some space there",
    "enable": "the cluster may not place shards now; set cluster.routing.allocation.enable to all",
    "filter": "rules keep it from the nodes; change cluster.routing.allocation or the index's routing.allocation",
    "data_tier": "no node is of the data tier it belongs to; give one the role data_content",
    "awareness": "copies must be in different zones and one is missing; add a node there",
    "shards_limit": "the nodes hold as many shards as they may; raise total_shards_per_node, or add a node",
    "max_retry": "the cluster gave up after several attempts; read its log, then POST /_cluster/reroute?"
    "retry_failed=true",
    "node_version": "the nodes left are of an older version than the first copy's; upgrade them all",
    "replica_after_primary_active": "the first copy is not at work yet; wait, or repair that one",
    "same_shard": "no node is left that has no copy yet; add a node, or set the index's number_of_replicas to 0",
}
"""What keeps a shard from a node, by the names both products give their rules, the most telling first: where a node is
ruled out by having a copy, another's reason is the one that something can be done about."""


def read_shards(questions: Questions, physical: str) -> Shards:
    """Read the shards of one index; ask once for primaries and once for replicas why they are unassigned."""
    rows = questions.ask(f"/_cat/shards/{physical}", format="json", bytes="b", h="index,shard,prirep,state,store") or ()
    kinds = {kind: [row for row in rows if str(row.get("prirep", "")).startswith(kind)] for kind in "pr"}
    missing = []
    for kind, of_kind in kinds.items():
        numbers = sorted({whole(row.get("shard")) for row in of_kind if row.get("state") == "UNASSIGNED"})
        if numbers:
            asked = {"index": physical, "shard": numbers[0], "primary": kind == "p"}
            why = plain_reason(questions.ask("/_cluster/allocation/explain", asked) or {})
            missing.append(Unassigned(kind == "p", tuple(numbers), why))
    return Shards(
        primaries=len(kinds["p"]),
        replicas=len(kinds["r"]),
        started=sum(row.get("state") in ("STARTED", "RELOCATING") for row in rows),
        unassigned=tuple(missing),
        store_bytes=sum(whole(row.get("store")) for row in rows),
    )


def check_shards(name: str, shards: Shards) -> Iterator[Finding]:
    """Yield a problem for the unassigned primaries of an index and one for the unassigned replicas."""
    for missing in shards.unassigned:
        effect = "can't be searched" if missing.primary else "will be lost if a node is: there is no replica"
        number = counted(len(missing.shards), "shard")
        yield Finding(trouble=f"Of the index {name}, {number} of {shards.primaries} {effect} ({missing.why}).")


def plain_reason(explanation: Mapping[str, Any]) -> str:
    """Return, as a clause, why a shard is unassigned and what to do, from a `_cluster/allocation/explain` reply."""
    if told := _STATES.get(str(explanation.get("can_allocate", ""))):
        return told
    refusing = {
        str(decider.get("decider"))
        for node in explanation.get("node_allocation_decisions") or ()
        for decider in node.get("deciders", ())
        if decider.get("decision") == "NO"
    }
    if told := next((_DECIDERS[name] for name in _DECIDERS if name in refusing), ""):
        return told
    failed = dig(explanation, "unassigned_info").get("details")
    reason = " ".join(str(failed or explanation.get("allocate_explanation") or "the cluster does not say why").split())
    return f"{reason[:300].rstrip('.')}; GET /_cluster/allocation/explain says more"


def counted(count: int, noun: str) -> str:
    """Return a number with its noun."""
    return f"{count} {noun}" + ("" if count == 1 else "s")
