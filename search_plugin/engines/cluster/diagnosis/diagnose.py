"""The state of a cluster: health, licence, disks, memory, and indexes of ses. It only reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from corpora.errors import UnavailableError
from search_plugin.engines.cluster.diagnosis.attached import check_attached
from search_plugin.engines.cluster.diagnosis.indexes import check_index
from search_plugin.engines.cluster.diagnosis.nodes import (
    FILTER,
    Node,
    Watermarks,
    disk_troubles,
    read_nodes,
    read_watermarks,
    share_or_size,
)
from search_plugin.engines.cluster.diagnosis.questions import Questions, dig
from search_plugin.engines.diagnosis import Diagnosis, IndexDiagnosis, human_bytes

if TYPE_CHECKING:
    from search_plugin.engines.cluster.attached.attachment import Attachment
    from search_plugin.engines.cluster.dialect import Dialect
    from search_plugin.engines.cluster.generation import Generation
    from search_plugin.engines.cluster.transport import Cluster

_PLUGINS = ("opensearch-knn", "opensearch-neural-search")
"""The OpenSearch plugins that vectors and its own hybrid search need; both are built into Elasticsearch."""

_NOTHING: Mapping[str, Any] = {"standard": {"query": {"match_none": {}}}}
_WEIGHTED = {"retriever": _NOTHING, "weight": 1.0, "normalizer": "minmax"}
_RETRIEVERS: Sequence[Mapping[str, Any]] = (
    {"linear": {"retrievers": [_WEIGHTED, _WEIGHTED]}},
    {"rrf": {"retrievers": [_NOTHING, _NOTHING]}},
)
"""Elasticsearch can join legs with either. The licence's name is not enough: features differ by build."""


@dataclass(frozen=True, slots=True)
class ClusterFacts:
    """What a cluster reports about itself.

    Attributes:
        name: Of the cluster.
        status: green, yellow or red; empty if the user has no right to read it. Plugins and watermarks are then None.
        licence: By name.
        licence_active: Whether it is valid now.
        plugins: Those that matter, with their versions.
        nodes: All.
        watermarks: Of the nodes' disks.
        native_limit: Bytes that OpenSearch allows faiss on all nodes together; None if there is no limit.
        native_full: Whether that limit was reached.
        memory_bytes: Memory outside the heaps of all data nodes.
        vectors_bytes: Of memory that the vectors of all indexes take.
    """

    name: str
    status: str
    licence: str
    licence_active: bool
    plugins: Mapping[str, str] | None
    nodes: tuple[Node, ...]
    watermarks: Watermarks | None
    native_limit: int | None
    native_full: bool
    memory_bytes: int
    vectors_bytes: int


def diagnose(
    cluster: Cluster,
    dialect: Dialect,
    generations: Mapping[str, Sequence[Generation]],
    attachments: Sequence[Attachment] = (),
) -> Diagnosis:
    """Return the state of a cluster and of the given indexes; raise `UnavailableError` if it stops answering."""
    questions = Questions(cluster)
    own = tuple(check_index(questions, dialect, name, generations[name]) for name in generations)
    indexes = (*own, *(check_attached(cluster, dialect, attachment) for attachment in attachments))
    facts = _facts(questions, indexes)
    native = sum(_memory(index) for index in own if any(map(_uses_faiss, generations[index.name])))
    troubles = [
        *_cluster_troubles(facts, indexes, dialect),
        *(disk_troubles(facts.nodes, facts.watermarks) if facts.watermarks else ()),
        *_memory_troubles(facts, native),
        *(trouble for index in indexes for trouble in index.troubles),
        *questions.refused,
    ]
    return Diagnosis(
        product=cluster.product.name.partition(" ")[0],
        version=cluster.product.number,
        joins=("ses", "engine") if _can_join(questions, facts) else ("ses",),
        indexes=indexes,
        troubles=tuple(dict.fromkeys(troubles)),
        details=asdict(facts),
        lines=tuple(_lines(facts)),
    )


def _facts(questions: Questions, indexes: Sequence[IndexDiagnosis]) -> ClusterFacts:
    opensearch = questions.cluster.product.kind == "opensearch"
    health = dig(questions.ask("/_cluster/health"))
    replied = dig(questions.ask("/_cluster/settings", include_defaults=True, flat_settings=True))
    settings = {**dig(replied, "defaults"), **dig(replied, "persistent"), **dig(replied, "transient")}
    nodes = read_nodes(dig(questions.ask("/_nodes/stats/os,jvm,fs", filter_path=FILTER)))
    licence = {"type": "Apache-2.0, which needs no key"} if opensearch else dig(questions.ask("/_license"), "license")
    return ClusterFacts(
        name=str(health.get("cluster_name", "")),
        status=str(health.get("status", "")),
        licence=str(licence.get("type", "unknown")),
        licence_active=licence.get("status", "active") == "active",
        plugins=_plugins(questions) if opensearch else {},
        nodes=nodes,
        watermarks=read_watermarks(settings) if replied else None,
        native_limit=_native_limit(settings, nodes),
        native_full=str(settings.get("knn.circuit_breaker.triggered")) == "true",
        memory_bytes=sum(node.beside_heap for node in nodes if node.holds_data),
        vectors_bytes=sum(map(_memory, indexes)),
    )


def _plugins(questions: Questions) -> dict[str, str] | None:
    listed = questions.ask("/_cat/plugins", format="json", h="component,version")
    if listed is None:
        return None
    versions = {str(row.get("component")): str(row.get("version")) for row in listed}
    return {name: versions[name] for name in _PLUGINS if name in versions}


def _native_limit(settings: Mapping[str, Any], nodes: Sequence[Node]) -> int | None:
    """Return what OpenSearch's k-NN circuit breaker allows: by default half of each node's memory outside the heap."""
    limit = settings.get("knn.memory.circuit_breaker.limit")
    if limit is None or str(settings.get("knn.memory.circuit_breaker.enabled", "true")).lower() != "true":
        return None
    allowed = [share_or_size(str(limit), node.beside_heap) for node in nodes if node.holds_data]
    return sum(size for size in allowed if size is not None) if allowed else None


def _can_join(questions: Questions, facts: ClusterFacts) -> bool:
    if questions.cluster.product.kind == "opensearch":
        return _PLUGINS[1] in (facts.plugins or ())
    bodies = ({"size": 0, "retriever": retriever} for retriever in _RETRIEVERS)
    return any(questions.attempt("/ses.*/_search", body) is not None for body in bodies)


def _memory(index: IndexDiagnosis) -> int:
    return int(index.details.get("memory_bytes", 0))


def _uses_faiss(generation: Generation) -> bool:
    fields = dig(generation.mappings, "properties").values()
    return generation.published and any(dig(field, "method").get("engine") == "faiss" for field in fields)


def _cluster_troubles(facts: ClusterFacts, indexes: Sequence[IndexDiagnosis], dialect: Dialect) -> Iterator[str]:
    if facts.plugins is not None:
        try:
            dialect.check(frozenset(facts.plugins))
        except UnavailableError as error:
            yield error.marked
    if not facts.licence_active:
        yield f"The licence {facts.licence} of the cluster is not valid any more; renew it."
    if facts.status == "red" and not any(dig(index.details, "shards").get("unassigned") for index in indexes):
        yield (
            f"The cluster {facts.name} is red: indexes of others lack shards; "
            "GET /_cluster/allocation/explain says why."
        )


def _memory_troubles(facts: ClusterFacts, native: int) -> Iterator[str]:
    if 0 < facts.memory_bytes < facts.vectors_bytes:
        yield (
            f"The vectors take about {human_bytes(facts.vectors_bytes)} of memory and the nodes have "
            f"{human_bytes(facts.memory_bytes)} beside their heaps, so searches wait for the disk. Index again with "
            "<fresh> and a smaller <quantization>, or add memory."
        )
    if facts.native_full or (facts.native_limit is not None and native > facts.native_limit):
        yield (
            f"The vectors that faiss keeps take about {human_bytes(native)} and the cluster allows it "
            f"{human_bytes(facts.native_limit or 0)}; raise knn.memory.circuit_breaker.limit, or add memory."
        )


def _lines(facts: ClusterFacts) -> Iterator[str]:
    plugins = [f"plugin {name} {version}" for name, version in (facts.plugins or {}).items()]
    health = f"cluster {facts.name}: {facts.status or 'health unknown'}"
    yield "; ".join([health, *plugins, f"licence: {facts.licence}"])
    yield from map(str, facts.nodes)
    if facts.watermarks:
        yield str(facts.watermarks)
    limit = "" if facts.native_limit is None else f"; faiss may take {human_bytes(facts.native_limit)}"
    yield f"memory: vectors take about {human_bytes(facts.vectors_bytes)} of {human_bytes(facts.memory_bytes)}{limit}"
