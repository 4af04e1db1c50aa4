"""The state of a cluster: health, plugins, licence, nodes, disks, memory, and indexes of ses. It only reads."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from corpora.errors import UnavailableError
from search_plugin.contract.diagnosis import (
    Check,
    Diagnosis,
    Finding,
    IndexDiagnosis,
    human_bytes,
    run_checks,
    troubles_of,
)
from search_plugin.engines.cluster.attached.attachment import Attachment
from search_plugin.engines.cluster.diagnosis.indexes import Questions, check_attached, check_index, dig, whole
from search_plugin.engines.cluster.dialect import Dialect
from search_plugin.engines.cluster.opensearch import HYBRID_PLUGIN, PLUGIN
from search_plugin.engines.cluster.physical import Generation
from search_plugin.engines.cluster.transport import Cluster

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


_PLUGINS = (PLUGIN, HYBRID_PLUGIN)
"""The OpenSearch plugins that vectors and its own hybrid search need; both are built into Elasticsearch."""


@dataclass(frozen=True, slots=True)
class ExaminedCluster:
    """What the checks of a cluster look at; `faiss` are the names of the indexes whose vectors faiss keeps."""

    questions: Questions
    dialect: Dialect
    indexes: Sequence[IndexDiagnosis]
    faiss: frozenset[str]
    nodes: Sequence[Node]
    settings: Mapping[str, Any]

    @property
    def is_opensearch(self) -> bool:
        """Whether it is OpenSearch, the other product being Elasticsearch."""
        return self.questions.cluster.product.kind == "opensearch"


def _health(examined: ExaminedCluster) -> Iterator[Finding]:
    health = dig(examined.questions.ask("/_cluster/health"))
    name, status = str(health.get("cluster_name", "")), str(health.get("status", ""))
    yield Finding("name", name)
    yield Finding("status", status, f"cluster {name}: {status or 'health unknown'}")
    if status == "red" and not any(dig(index.details, "shards").get("unassigned") for index in examined.indexes):
        problem = f"The cluster {name} is red: indexes of others lack shards"
        yield Finding(trouble=f"{problem}; GET /_cluster/allocation/explain says why.")


def _plugins(examined: ExaminedCluster) -> Iterator[Finding]:
    if not examined.is_opensearch:
        yield Finding("plugins", {})
        return
    listed = examined.questions.ask("/_cat/plugins", format="json", h="component,version")
    if listed is None:
        yield Finding("plugins", None)
        return
    versions = {str(row.get("component")): str(row.get("version")) for row in listed}
    plugins = {name: versions[name] for name in _PLUGINS if name in versions}
    yield Finding("plugins", plugins, ", ".join(f"plugin {name} {version}" for name, version in plugins.items()))
    try:
        examined.dialect.check(frozenset(plugins))
    except UnavailableError as error:
        yield Finding(trouble=error.marked)


def _licence(examined: ExaminedCluster) -> Iterator[Finding]:
    own = {"type": "Apache-2.0, which needs no key"}
    licence = own if examined.is_opensearch else dig(examined.questions.ask("/_license"), "license")
    name, active = str(licence.get("type", "unknown")), licence.get("status", "active") == "active"
    yield Finding("licence", name, f"licence: {name}")
    yield Finding("licence_active", active)
    if not active:
        yield Finding(trouble=f"The licence {name} of the cluster is not valid any more; renew it.")


def _nodes(examined: ExaminedCluster) -> Iterator[Finding]:
    yield Finding("nodes", tuple(map(asdict, examined.nodes)))
    yield from (Finding(line=str(node)) for node in examined.nodes)


def _disks(examined: ExaminedCluster) -> Iterator[Finding]:
    if not examined.settings:
        yield Finding("watermarks", None)
        return
    marks = read_watermarks(examined.settings)
    yield Finding("watermarks", asdict(marks), str(marks))
    yield from check_disks(examined.nodes, marks)


def _memory(examined: ExaminedCluster) -> Iterator[Finding]:
    needed = sum(map(_memory_of, examined.indexes))
    there = sum(node.beside_heap for node in examined.nodes if node.holds_data)
    yield Finding("memory_bytes", there)
    yield Finding("vectors_bytes", needed, f"memory: vectors take about {human_bytes(needed)} of {human_bytes(there)}")
    if 0 < there < needed:
        yield Finding(
            trouble=f"The vectors take about {human_bytes(needed)} of memory and the nodes have {human_bytes(there)} "
            "beside their heaps, so searches wait for the disk. Index again with <fresh> and a smaller "
            "<quantization>, or add memory."
        )


def _memory_of_faiss(examined: ExaminedCluster) -> Iterator[Finding]:
    limit, full = _limit_of_faiss(examined), str(examined.settings.get("knn.circuit_breaker.triggered")) == "true"
    needed = sum(_memory_of(index) for index in examined.indexes if index.name in examined.faiss)
    yield Finding("native_limit", limit, "" if limit is None else f"memory: faiss may take {human_bytes(limit)}")
    yield Finding("native_full", full)
    if full or (limit is not None and needed > limit):
        yield Finding(
            trouble=f"The vectors that faiss keeps take about {human_bytes(needed)} and the cluster allows it "
            f"{human_bytes(limit or 0)}; raise knn.memory.circuit_breaker.limit, or add memory."
        )


def _memory_of(index: IndexDiagnosis) -> int:
    return int(index.details.get("memory_bytes", 0))


def _limit_of_faiss(examined: ExaminedCluster) -> int | None:
    """Return what OpenSearch's k-NN circuit breaker allows: by default half of each node's memory outside the heap."""
    limit = examined.settings.get("knn.memory.circuit_breaker.limit")
    if limit is None or str(examined.settings.get("knn.memory.circuit_breaker.enabled", "true")).lower() != "true":
        return None
    allowed = [share_or_size(str(limit), node.beside_heap) for node in examined.nodes if node.holds_data]
    return sum(size for size in allowed if size is not None) if allowed else None


CHECKS: Sequence[Check[ExaminedCluster]] = (_health, _plugins, _licence, _nodes, _disks, _memory, _memory_of_faiss)


_NOTHING: Mapping[str, Any] = {"standard": {"query": {"match_none": {}}}}
_WEIGHTED = {"retriever": _NOTHING, "weight": 1.0, "normalizer": "minmax"}
_RETRIEVERS: Sequence[Mapping[str, Any]] = (
    {"linear": {"retrievers": [_WEIGHTED, _WEIGHTED]}},
    {"rrf": {"retrievers": [_NOTHING, _NOTHING]}},
)
"""Elasticsearch can join legs with either. The licence's name is not enough: features differ by build."""


def diagnose(
    cluster: Cluster, dialect: Dialect, generations: Sequence[Generation], attachments: Sequence[Attachment] = ()
) -> Diagnosis:
    """Return the state of a cluster and of the given indexes; raise `UnavailableError` if it stops answering."""
    questions = Questions(cluster)
    names = sorted({generation.name for generation in generations})
    own = [check_index(questions, dialect, name, [g for g in generations if g.name == name]) for name in names]
    indexes = (*own, *(check_attached(questions, dialect, attachment) for attachment in attachments))
    faiss = frozenset(generation.name for generation in generations if _uses_faiss(generation))
    nodes = read_nodes(dig(questions.ask("/_nodes/stats/os,jvm,fs", filter_path=FILTER)))
    reply = dig(questions.ask("/_cluster/settings", include_defaults=True, flat_settings=True))
    settings = {**dig(reply, "defaults"), **dig(reply, "persistent"), **dig(reply, "transient")}
    examined = ExaminedCluster(questions, dialect, indexes, faiss, nodes, settings)
    findings = (
        *run_checks(CHECKS, examined),
        *troubles_of(indexes),
        *(Finding(trouble=refused) for refused in questions.refused),
    )
    diagnosis = Diagnosis(cluster.product.name.partition(" ")[0], cluster.product.number, ("ses",), indexes, findings)
    joined = _can_join(questions, diagnosis.details["plugins"])
    return replace(diagnosis, joins=("ses", "engine")) if joined else diagnosis


def _uses_faiss(generation: Generation) -> bool:
    fields = dig(generation.mappings, "properties").values()
    return generation.published and any(dig(field, "method").get("engine") == "faiss" for field in fields)


def _can_join(questions: Questions, plugins: Mapping[str, str] | None) -> bool:
    if questions.cluster.product.kind == "opensearch":
        return HYBRID_PLUGIN in (plugins or ())
    bodies = ({"size": 0, "retriever": retriever} for retriever in _RETRIEVERS)
    return any(questions.attempt("/ses.*/_search", body) is not None for body in bodies)
