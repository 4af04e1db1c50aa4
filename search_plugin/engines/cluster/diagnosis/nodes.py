"""The nodes of a cluster: their memory outside the heap, their disks, and how full the disks may be."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from search_plugin.contract.diagnosis import Finding, human_bytes
from search_plugin.engines.cluster.diagnosis.questions import dig, whole

FILTER = (
    "nodes.*.name,nodes.*.roles,nodes.*.os.mem,nodes.*.os.cgroup.memory.limit_in_bytes,"
    "nodes.*.jvm.mem.heap_max_in_bytes,nodes.*.fs.total"
)
"""What `read_nodes` reads of a cluster's `_nodes/stats`."""

_SETTING = "cluster.routing.allocation.disk"
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgtp]?)b?")
_BEYOND = {
    "flood_stage": "its indexes can't be written",
    "high": "its shards are moved to other nodes",
    "low": "it gets no new copies of shards",
}
"""The watermarks, the highest first, and what happens to a node whose disk exceeds each."""


@dataclass(frozen=True, slots=True)
class Node:
    """A node. Sizes in bytes: memory (of its container, if any), Java heap, disk, and free disk space."""

    name: str
    holds_data: bool
    memory: int
    heap: int
    disk: int
    free: int

    @property
    def beside_heap(self) -> int:
        """Bytes available for vectors, which Lucene and faiss both keep outside the heap."""
        return max(self.memory - self.heap, 0)

    def __str__(self) -> str:
        memory = f"{human_bytes(self.heap)} heap and {human_bytes(self.beside_heap)} beside it"
        return f"node {self.name}: {memory}; disk {human_bytes(self.free)} of {human_bytes(self.disk)} free"


@dataclass(frozen=True, slots=True)
class Watermark:
    """A watermark as the cluster gives it: a share of the disk that may be used, or a size that must be free.

    On a large disk, a share need not leave more than `headroom` free (`200GB`; `-1` or empty for no such limit).
    """

    value: str
    headroom: str = ""

    def free_bytes(self, total: int) -> int | None:
        """Return how much must be free on a disk of some size, or None where the value can't be read."""
        used = _share(self.value)
        if used is None:
            return parse_size(self.value)
        free, cap = round(total * (1 - used)), parse_size(self.headroom)
        return free if cap is None else min(free, cap)


@dataclass(frozen=True, slots=True)
class Watermarks:
    """All three watermarks, and whether the cluster checks disks at all."""

    enabled: bool
    low: Watermark
    high: Watermark
    flood_stage: Watermark

    def level(self, total: int, free: int) -> str:
        """Return the highest watermark that a disk exceeds, or `ok`."""
        needed = {level: getattr(self, level).free_bytes(total) for level in _BEYOND}
        return next((level for level in _BEYOND if total and free < (needed[level] or 0)), "ok")

    def __str__(self) -> str:
        values = f"low {self.low.value}, high {self.high.value}, flood stage {self.flood_stage.value}"
        return f"disk watermarks: {values}" + ("" if self.enabled else " (switched off)")


def read_nodes(reply: Mapping[str, Any]) -> tuple[Node, ...]:
    """Read the nodes from a `_nodes/stats` reply, by name."""
    return tuple(sorted(map(_node, dig(reply, "nodes").values()), key=lambda node: node.name))


def _node(stats: Mapping[str, Any]) -> Node:
    machine, container, disk = dig(stats, "os", "mem"), dig(stats, "os", "cgroup", "memory"), dig(stats, "fs", "total")
    limits = (machine.get("total_in_bytes"), machine.get("adjusted_total_in_bytes"), container.get("limit_in_bytes"))
    roles = map(str, stats.get("roles", ()))
    return Node(
        name=str(stats.get("name", "")),
        holds_data=any(role == "data" or (role.startswith("data_") and role != "data_frozen") for role in roles),
        memory=min((size for limit in limits if (size := whole(limit))), default=0),
        heap=whole(dig(stats, "jvm", "mem").get("heap_max_in_bytes")),
        disk=whole(disk.get("total_in_bytes")),
        free=whole(disk.get("available_in_bytes")),
    )


def read_watermarks(settings: Mapping[str, Any]) -> Watermarks:
    """Read the watermarks from the effective settings, given with flat keys."""
    keys = (f"{_SETTING}.watermark.{name}" for name in ("low", "high", "flood_stage"))
    marks = (Watermark(str(settings.get(key, "")), str(settings.get(f"{key}.max_headroom", ""))) for key in keys)
    return Watermarks(str(settings.get(f"{_SETTING}.threshold_enabled", "true")).lower() == "true", *marks)


def check_disks(nodes: Sequence[Node], marks: Watermarks) -> Iterator[Finding]:
    """Yield a problem for every disk that exceeds a watermark, and one if the cluster does not check disks."""
    if not marks.enabled:
        yield Finding(
            trouble="The cluster does not look at its disks, and a full one damages indexes; "
            "set cluster.routing.allocation.disk.threshold_enabled to true."
        )
    for node in nodes:
        level = marks.level(node.disk, node.free)
        if node.holds_data and level != "ok":
            yield Finding(
                trouble=f"The disk of node {node.name} is beyond its {level.replace('_', '-')} watermark "
                f"({getattr(marks, level).value}), so {_BEYOND[level]}: {human_bytes(node.free)} of "
                f"{human_bytes(node.disk)} are free. Free some space there, or add a node."
            )


def parse_size(text: str) -> int | None:
    """Return the bytes of a size such as `20gb` (1 kb is 1,024 bytes), or None if it is not a size."""
    match = _SIZE.fullmatch(text.strip().lower())
    return int(float(match[1]) * (1 << (10 * " kmgtp".index(match[2] or " ")))) if match else None


def share_or_size(text: str, whole: int) -> int | None:
    """Return the bytes of a plain size or of a percentage such as `50%`, or None if it is neither."""
    share = _share(text)
    return parse_size(text) if share is None else round(whole * share)


def _share(text: str) -> float | None:
    """Return the fraction that `85%` or `0.85` stands for, or None for anything else."""
    try:
        share = float(text.strip().removesuffix("%")) / (100 if "%" in text else 1)
    except ValueError:
        return None
    return share if 0 <= share <= 1 else None
