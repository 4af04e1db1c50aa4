"""The nodes of a cluster: their memory outside the heap and their disks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

FILTER = (
    "nodes.*.name,nodes.*.roles,nodes.*.os.mem,nodes.*.os.cgroup.memory.limit_in_bytes,"
    "nodes.*.jvm.mem.heap_max_in_bytes,nodes.*.fs.total"
)
"""What `read_nodes` reads of a cluster's `_nodes/stats`."""


@dataclass(frozen=True, slots=True)
class Node:
    """One of them.

    Attributes:
        name: As the cluster calls it.
        holds_data: Whether indexes lie there.
        memory: Bytes that the machine, or the container, has.
        heap: Bytes that Java takes of them.
        disk: Bytes of the disk that indexes lie on.
        free: Bytes of it that are left.
    """

    name: str
    holds_data: bool
    memory: int
    heap: int
    disk: int
    free: int

    @property
    def beside_heap(self) -> int:
        """Bytes left for the vectors, which Lucene and faiss both keep outside the heap."""
        return max(self.memory - self.heap, 0)


def read_nodes(reply: Mapping[str, Any]) -> tuple[Node, ...]:
    """Read the nodes of a `_nodes/stats`, by name."""
    nodes = (_node(stats) for stats in dig(reply, "nodes").values())
    return tuple(sorted(nodes, key=lambda node: node.name))


def dig(reply: Any, *path: str) -> Mapping[str, Any]:
    """Return the object at a path of a reply, or an empty one where there is none."""
    for name in path:
        reply = reply.get(name) if isinstance(reply, Mapping) else None
    return reply if isinstance(reply, Mapping) else {}


def whole(value: Any) -> int:
    """Return a number of a reply, which some servers give as text, or 0 where there is none."""
    try:
        return max(int(value), 0)
    except (TypeError, ValueError):
        return 0


def _node(stats: Mapping[str, Any]) -> Node:
    machine = dig(stats, "os", "mem")
    limits = (
        machine.get("total_in_bytes"),
        machine.get("adjusted_total_in_bytes"),
        dig(stats, "os", "cgroup", "memory").get("limit_in_bytes"),
    )
    disk = dig(stats, "fs", "total")
    return Node(
        name=str(stats.get("name", "")),
        holds_data=any(str(role) == "data" or _holds_hot_data(str(role)) for role in stats.get("roles", ())),
        memory=min((size for limit in limits if (size := whole(limit))), default=0),
        heap=whole(dig(stats, "jvm", "mem").get("heap_max_in_bytes")),
        disk=whole(disk.get("total_in_bytes")),
        free=whole(disk.get("available_in_bytes")),
    )


def _holds_hot_data(role: str) -> bool:
    return role.startswith("data_") and role != "data_frozen"
