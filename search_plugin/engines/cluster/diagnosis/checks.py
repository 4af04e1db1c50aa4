"""The checks of a cluster: its health, plugins, licence, nodes, disks and memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from corpora.errors import UnavailableError
from search_plugin.contract.diagnosis import Finding, IndexDiagnosis, human_bytes
from search_plugin.engines.cluster.diagnosis.nodes import Node, check_disks, read_watermarks, share_or_size
from search_plugin.engines.cluster.diagnosis.questions import Questions, dig

if TYPE_CHECKING:
    from search_plugin.engines.cluster.dialect import Dialect

HYBRID = "opensearch-neural-search"
_PLUGINS = ("opensearch-knn", HYBRID)
"""The OpenSearch plugins that vectors and its own hybrid search need; both are built into Elasticsearch."""


@dataclass(frozen=True, slots=True)
class Examined:
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


def _health(examined: Examined) -> Iterator[Finding]:
    health = dig(examined.questions.ask("/_cluster/health"))
    name, status = str(health.get("cluster_name", "")), str(health.get("status", ""))
    yield Finding("name", name)
    yield Finding("status", status, f"cluster {name}: {status or 'health unknown'}")
    if status == "red" and not any(dig(index.details, "shards").get("unassigned") for index in examined.indexes):
        told = f"The cluster {name} is red: indexes of others lack shards"
        yield Finding(trouble=f"{told}; GET /_cluster/allocation/explain says why.")


def _plugins(examined: Examined) -> Iterator[Finding]:
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


def _licence(examined: Examined) -> Iterator[Finding]:
    own = {"type": "Apache-2.0, which needs no key"}
    licence = own if examined.is_opensearch else dig(examined.questions.ask("/_license"), "license")
    name, active = str(licence.get("type", "unknown")), licence.get("status", "active") == "active"
    yield Finding("licence", name, f"licence: {name}")
    yield Finding("licence_active", active)
    if not active:
        yield Finding(trouble=f"The licence {name} of the cluster is not valid any more; renew it.")


def _nodes(examined: Examined) -> Iterator[Finding]:
    yield Finding("nodes", tuple(map(asdict, examined.nodes)))
    yield from (Finding(line=str(node)) for node in examined.nodes)


def _disks(examined: Examined) -> Iterator[Finding]:
    if not examined.settings:
        yield Finding("watermarks", None)
        return
    marks = read_watermarks(examined.settings)
    yield Finding("watermarks", asdict(marks), str(marks))
    yield from check_disks(examined.nodes, marks)


def _memory(examined: Examined) -> Iterator[Finding]:
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


def _memory_of_faiss(examined: Examined) -> Iterator[Finding]:
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


def _limit_of_faiss(examined: Examined) -> int | None:
    """Return what OpenSearch's k-NN circuit breaker allows: by default half of each node's memory outside the heap."""
    limit = examined.settings.get("knn.memory.circuit_breaker.limit")
    if limit is None or str(examined.settings.get("knn.memory.circuit_breaker.enabled", "true")).lower() != "true":
        return None
    allowed = [share_or_size(str(limit), node.beside_heap) for node in examined.nodes if node.holds_data]
    return sum(size for size in allowed if size is not None) if allowed else None


CHECKS: Sequence[Callable[[Examined], Iterator[Finding]]] = (
    _health,
    _plugins,
    _licence,
    _nodes,
    _disks,
    _memory,
    _memory_of_faiss,
)
