"""How a cluster is: health, licence, disks, memory, and its indexes of ses. It only asks, and changes nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from corpora.errors import UnavailableError
from search_plugin.engines.cluster.diagnosis.indexes import CheckedIndex, Generation, check_index
from search_plugin.engines.cluster.diagnosis.nodes import FILTER, Node, dig, read_nodes
from search_plugin.engines.cluster.diagnosis.questions import Questions
from search_plugin.engines.cluster.diagnosis.watermarks import Watermarks, read_watermarks, share_or_size
from search_plugin.engines.diagnosis import Diagnosis, human_bytes

if TYPE_CHECKING:
    from search_plugin.engines.cluster.dialect import Dialect
    from search_plugin.engines.cluster.product import Product
    from search_plugin.engines.cluster.transport import Cluster
    from search_plugin.request import Join

_PLUGINS = ("opensearch-knn", "opensearch-neural-search")
"""Those of OpenSearch that vectors and its own hybrid search need; Elasticsearch has both built in."""

_NOTHING: Mapping[str, Any] = {"standard": {"query": {"match_none": {}}}}
_WEIGHTED = {"retriever": _NOTHING, "weight": 1.0, "normalizer": "minmax"}
_RETRIEVERS: Mapping[str, Any] = {
    "linear": {"retrievers": [_WEIGHTED, _WEIGHTED]},
    "rrf": {"retrievers": [_NOTHING, _NOTHING]},
}
"""Either lets Elasticsearch join legs. The licence's name does not say it, as builds differ in what they bring."""


@dataclass(frozen=True, slots=True)
class ClusterFacts:
    """What a cluster tells about itself.

    Attributes:
        name: Of the cluster.
        status: green, yellow or red; empty where it may not be asked.
        licence: By name.
        licence_active: Whether it is valid now.
        plugins: Those that matter, with their versions; None where they may not be asked.
        nodes: All.
        watermarks: Of the nodes' disks; None where they may not be asked.
        native_limit: Bytes that OpenSearch lets faiss take on all nodes together; None where there is no limit.
        native_full: Whether that limit was reached.
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

    @property
    def memory(self) -> int:
        """Bytes beside the heaps of all nodes that hold data."""
        return sum(node.beside_heap for node in self.nodes if node.holds_data)


def diagnose(cluster: Cluster, dialect: Dialect, generations: Mapping[str, Sequence[Generation]]) -> Diagnosis:
    """Ask a cluster how it is.

    Args:
        cluster: To ask.
        dialect: Of the product.
        generations: Of the indexes to look at, by name.

    Returns:
        What it tells.

    Raises:
        UnavailableError: If it does not answer any more.
    """
    questions = Questions(cluster)
    facts = _facts(questions, cluster.product)
    checked = [check_index(questions, dialect, name, generations[name]) for name in generations]
    troubles = [
        *_cluster_told(facts, checked, dialect),
        *_disks_told(facts),
        *_memory_told(facts, checked),
        *(trouble for index in checked for trouble in index.troubles),
        *questions.refused,
    ]
    return Diagnosis(
        product=cluster.product.name.partition(" ")[0],
        version=cluster.product.number,
        joins=_joins(questions, cluster.product, facts),
        indexes=tuple(index.diagnosis for index in checked),
        troubles=tuple(dict.fromkeys(troubles)),
        details=asdict(facts) | {"memory_bytes": facts.memory, "vectors_bytes": sum(i.memory for i in checked)},
        lines=tuple(_lines(facts, checked)),
    )


def _facts(questions: Questions, product: Product) -> ClusterFacts:
    health = dig(questions.ask("/_cluster/health"))
    replied = dig(questions.ask("/_cluster/settings", include_defaults=True, flat_settings=True))
    settings = {**dig(replied, "defaults"), **dig(replied, "persistent"), **dig(replied, "transient")}
    nodes = read_nodes(dig(questions.ask("/_nodes/stats/os,jvm,fs", filter_path=FILTER)))
    plugins: dict[str, str] | None = {}
    if product.kind == "opensearch":
        licence, active = "Apache-2.0, which needs no key", True
        plugins = _plugins(questions)
    else:
        told = dig(questions.ask("/_license"), "license")
        licence, active = str(told.get("type", "unknown")), str(told.get("status", "active")) == "active"
    return ClusterFacts(
        name=str(health.get("cluster_name", "")),
        status=str(health.get("status", "")),
        licence=licence,
        licence_active=active,
        plugins=plugins,
        nodes=nodes,
        watermarks=read_watermarks(settings) if replied else None,
        native_limit=_native_limit(settings, nodes),
        native_full=str(settings.get("knn.circuit_breaker.triggered")) == "true",
    )


def _plugins(questions: Questions) -> dict[str, str] | None:
    listed = questions.ask("/_cat/plugins", format="json", h="component,version")
    if listed is None:
        return None
    versions = {str(row.get("component")): str(row.get("version")) for row in listed}
    return {name: versions[name] for name in _PLUGINS if name in versions}


def _native_limit(settings: Mapping[str, Any], nodes: Sequence[Node]) -> int | None:
    """Return what OpenSearch's k-NN circuit breaker allows: by default half of each node's memory beside the heap."""
    limit = settings.get("knn.memory.circuit_breaker.limit")
    if limit is None or str(settings.get("knn.memory.circuit_breaker.enabled", "true")).lower() != "true":
        return None
    allowed = [share_or_size(str(limit), node.beside_heap) for node in nodes if node.holds_data]
    return sum(size for size in allowed if size is not None) if allowed else None


def _joins(questions: Questions, product: Product, facts: ClusterFacts) -> tuple[Join, ...]:
    if product.kind == "opensearch":
        able = _PLUGINS[1] in (facts.plugins or ())
    else:
        able = any(
            questions.works("/ses.*/_search", {"size": 0, "retriever": {name: body}})
            for name, body in _RETRIEVERS.items()
        )
    return ("ses", "engine") if able else ("ses",)


def _cluster_told(facts: ClusterFacts, checked: Sequence[CheckedIndex], dialect: Dialect) -> Iterator[str]:
    if facts.plugins is not None:
        try:
            dialect.check(frozenset(facts.plugins))
        except UnavailableError as error:
            yield str(error)
    if not facts.licence_active:
        yield f"The licence {facts.licence} of the cluster is not valid any more; give the cluster one that is."
    ours = any(shards["unassigned"] for index in checked if (shards := index.diagnosis.details.get("shards")))
    if facts.status == "red" and not ours:
        yield (
            f"The cluster {facts.name} is red: indexes of others lack shards; "
            "GET /_cluster/allocation/explain says why."
        )


def _disks_told(facts: ClusterFacts) -> Iterator[str]:
    marks = facts.watermarks
    if marks is None:
        return
    if not marks.enabled:
        yield (
            "The cluster does not look at its disks, and a full one damages indexes; "
            "set cluster.routing.allocation.disk.threshold_enabled to true."
        )
    beyond = {
        "low": ("low", marks.low, "gets no new copies of shards"),
        "high": ("high", marks.high, "loses its shards to other nodes"),
        "flood_stage": ("flood-stage", marks.flood_stage, "can't be written"),
    }
    for node in facts.nodes:
        level = marks.level(node.disk, node.free)
        if node.holds_data and level != "ok":
            called, mark, effect = beyond[level]
            yield (
                f"The disk of node {node.name} is beyond its {called} watermark ({mark.value}): "
                f"{human_bytes(node.free)} of {human_bytes(node.disk)} are free, and the node {effect}; "
                "free some space there, or add a node."
            )


def _memory_told(facts: ClusterFacts, checked: Sequence[CheckedIndex]) -> Iterator[str]:
    needed, native = sum(index.memory for index in checked), sum(index.native_memory for index in checked)
    if facts.memory and needed > facts.memory:
        yield (
            f"The vectors take about {human_bytes(needed)} of memory and the nodes have {human_bytes(facts.memory)} "
            "beside their heaps, so that searches wait for the disk; index again with --fresh and a smaller "
            "--quantization, or add memory."
        )
    if facts.native_full or (facts.native_limit is not None and native > facts.native_limit):
        yield (
            f"The vectors that faiss keeps take about {human_bytes(native)} and the cluster allows it "
            f"{human_bytes(facts.native_limit or 0)}; raise knn.memory.circuit_breaker.limit, or add memory."
        )


def _lines(facts: ClusterFacts, checked: Sequence[CheckedIndex]) -> Iterator[str]:
    plugins = [f"plugin {name} {version}" for name, version in (facts.plugins or {}).items()]
    health = f"cluster {facts.name}: {facts.status or 'health not told'}"
    yield "; ".join([health, *plugins, f"licence: {facts.licence}"])
    for node in facts.nodes:
        yield (
            f"node {node.name}: {human_bytes(node.heap)} heap and {human_bytes(node.beside_heap)} beside it; "
            f"disk {human_bytes(node.free)} of {human_bytes(node.disk)} free"
        )
    if marks := facts.watermarks:
        values = f"low {marks.low.value}, high {marks.high.value}, flood stage {marks.flood_stage.value}"
        yield f"disk watermarks: {values}" + ("" if marks.enabled else " (switched off)")
    limit = "" if facts.native_limit is None else f"; faiss may take {human_bytes(facts.native_limit)}"
    needed = human_bytes(sum(index.memory for index in checked))
    yield f"memory: vectors take about {needed} of {human_bytes(facts.memory)}{limit}"
