"""The state of one index in a cluster: its versions, settings and shards, and the memory of its vectors."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from typing import Any, get_args

from corpora.errors import InputError, UnavailableError
from corpora.paper import Rejected
from search_plugin.contract import diagnosis
from search_plugin.contract.diagnosis import Finding, IndexDiagnosis, human_bytes, missing_vectors
from search_plugin.contract.schema import IndexSchema, Quantization
from search_plugin.engines.cluster import lease
from search_plugin.engines.cluster.attached.attachment import Attachment
from search_plugin.engines.cluster.attached.index import AttachedIndex, open_attached
from search_plugin.engines.cluster.dialect import GRAPH, Dialect
from search_plugin.engines.cluster.errors import ClusterError
from search_plugin.engines.cluster.lease import seen_dead, silent
from search_plugin.engines.cluster.mapping import LOADING, check_open, check_unchanged, schema_of
from search_plugin.engines.cluster.passages import has_vector
from search_plugin.engines.cluster.physical import Generation, physical_name
from search_plugin.engines.cluster.transport import Cluster


class Questions:
    """Sends read requests to a cluster, and keeps in `refused` a line for each request that it refused."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.refused: list[str] = []

    def ask(self, path: str, body: Mapping[str, Any] | None = None, **params: Any) -> Any:
        """Return the JSON of the reply to a GET, or to a POST of a body; None if the cluster refuses."""
        method = "GET" if body is None else "POST"
        try:
            return self.cluster.call(method, path, body, params=params)
        except (ClusterError, InputError) as error:
            if isinstance(error, ClusterError) and not error.status:  # the cluster does not answer
                raise
            self.refused.append(
                f"The cluster refuses {method} {path}, so this report is not the whole picture: {error.marked}"
            )
            return None

    def attempt(self, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """Do the same as `ask` where a refusal is no problem: a document may not exist, a feature may be missing."""
        return Questions(self.cluster).ask(path, body)


def dig(reply: Any, *path: str) -> Mapping[str, Any]:
    """Return the object at a path of a reply, or an empty one if it is missing."""
    for name in path:
        reply = reply.get(name) if isinstance(reply, Mapping) else None
    return reply if isinstance(reply, Mapping) else {}


def whole(value: Any) -> int:
    """Return a number from a reply, which some servers send as text, or 0 if it is missing."""
    try:
        return max(int(value), 0)
    except (TypeError, ValueError):
        return 0


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
            shard = {"index": physical, "shard": numbers[0], "primary": kind == "p"}
            why = plain_reason(questions.ask("/_cluster/allocation/explain", shard) or {})
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
    if explained := _STATES.get(str(explanation.get("can_allocate", ""))):
        return explained
    refusing = {
        str(decider.get("decider"))
        for node in explanation.get("node_allocation_decisions") or ()
        for decider in node.get("deciders", ())
        if decider.get("decision") == "NO"
    }
    if explained := next((_DECIDERS[name] for name in _DECIDERS if name in refusing), ""):
        return explained
    failed = dig(explanation, "unassigned_info").get("details")
    reason = " ".join(str(failed or explanation.get("allocate_explanation") or "the cluster does not say why").split())
    return f"{reason[:300].rstrip('.')}; GET /_cluster/allocation/explain says more"


def counted(count: int, noun: str) -> str:
    """Return a number with its noun."""
    return f"{count} {noun}" + ("" if count == 1 else "s")


_MOST_READ = 20_000
"""Documents of an attached index that are read to see why they have no vectors."""
_MOST_SHOWN = 3


def check_index(questions: Questions, dialect: Dialect, name: str, generations: Sequence[Generation]) -> IndexDiagnosis:
    """Return the state of an index, given all its generations; raise `UnavailableError` if it stops answering."""
    published = next((g for g in generations if g.published), None)
    index = diagnosis.of_versions(
        name,
        published.number if published else 0,
        next((g.number for g in generations if g.previous), 0),
        [g.number for g in generations],
        lambda: _is_written(questions, name),
    )
    if published is None:
        return index
    what = f"the index {name} in {questions.cluster.url}"
    try:
        check_open(published.settings, physical_name(name, published.number), what)
    except UnavailableError as error:
        return index.plus(Finding(trouble=error.marked))
    schema, changed = None, ""
    try:
        schema = schema_of(published.mappings, f"The{what[3:]}")
        check_unchanged(published.mappings, published.settings, schema, dialect, what)
    except UnavailableError as error:
        changed = error.marked
    index = index.plus(Finding("mapping_unchanged", not (schema and changed), trouble=changed))
    return _check_content(questions, index, published, schema)


def _check_content(
    questions: Questions, index: IndexDiagnosis, published: Generation, schema: IndexSchema | None
) -> IndexDiagnosis:
    """Return an index with its papers, shards and settings; of a damaged one, which has no schema, less is known."""
    physical = physical_name(index.name, published.number)
    papers, having, counts = _counts(questions, physical, schema)
    index = index.with_papers(schema, papers, having.__getitem__) if schema else replace(index, papers=papers)
    shards = read_shards(questions, physical)
    return replace(index, disk_bytes=shards.store_bytes).plus(
        *missing_vectors(index),
        *_check_settings(index.name, published.settings),
        Finding("bm25", asdict(schema.bm25) if schema else None, f"BM25 with {schema.bm25}" if schema else ""),
        Finding(
            "shards", asdict(shards), f"{counted(shards.primaries, 'shard')}, {counted(shards.replicas, 'replica')}"
        ),
        *check_shards(index.name, shards),
        *_check_memory(schema, counts, shards),
    )


def _counts(
    questions: Questions, physical: str, schema: IndexSchema | None
) -> tuple[int, dict[str, int], dict[str, int]]:
    """Return how many papers can be found, and by format, how many papers have vectors and how many vectors there are.

    Nothing is refreshed, which would be a change.
    """
    fields = schema.written if schema else ()
    having = {field.name: {"filter": has_vector(field)} for field in fields}
    passages = {field.format: {"nested": {"path": field.name}} for field in fields if field.unit == "passage"}
    filters: dict[str, Any] = {**having, **passages}
    body = {"size": 0, "track_total_hits": True, "aggs": filters}
    reply = questions.ask(f"/{physical}/_search", body, allow_partial_search_results=False)
    found = {name: whole(dig(reply, "aggregations", name).get("doc_count")) for name in filters}
    papers = {field.format: found[field.name] for field in fields}
    vectors = {field.format: found.get(field.format, found[field.name]) for field in fields}
    return whole(dig(reply, "hits", "total").get("value")), papers, vectors


def _check_settings(name: str, settings: Mapping[str, Any]) -> Iterator[Finding]:
    refresh = str(settings.get("refresh_interval", "1s"))
    yield Finding("refresh_interval", refresh, f"refreshed every {refresh}")
    if refresh == LOADING["refresh_interval"]:
        yield Finding(
            trouble=f"The index {name} still has the settings for loading, so changes are not seen and no copies are "
            "made; index the same papers again, which restores its own."
        )
    blocks = sorted(block for block, on in dig(settings, "blocks").items() if str(on).lower() == "true")
    yield Finding("blocks", blocks)
    for block in blocks:
        yield Finding(
            trouble=f"The index {name} is read-only because a node's disk was nearly full; free some space there, and "
            "the cluster removes the block by itself."
            if block == "read_only_allow_delete"
            else f"The index {name} was blocked by somebody; set its index.blocks.{block} to false."
        )


def _check_memory(schema: IndexSchema | None, counts: Mapping[str, int], shards: Shards) -> Iterator[Finding]:
    kinds: tuple[Quantization, ...] = get_args(Quantization)
    by_kind = {kind: estimate_index(schema, counts, GRAPH["m"], kind) for kind in kinds} if schema else {}
    one_copy = by_kind[schema.quantization] if schema else 0
    memory = one_copy * shards.started // shards.primaries if shards.primaries else one_copy
    yield Finding("memory_bytes", memory, f"vectors take about {human_bytes(memory)} of memory")
    yield Finding("memory_bytes_by_quantization", by_kind)


def _is_written(questions: Questions, name: str) -> bool:
    """Return whether somebody holds the lock of the index, as far as this machine can see."""
    holder = dig(questions.attempt(f"/{lease.INDEX}/_doc/{name}"), "_source")
    return bool(holder) and not seen_dead(holder) and not silent(holder, lease.SECONDS)


def check_attached(questions: Questions, dialect: Dialect, attachment: Attachment) -> IndexDiagnosis:
    """Return the state of an attached index, whose own settings and shards are its owner's."""
    name, schema = attachment.name, attachment.schema
    found = IndexDiagnosis(
        name,
        1,
        model=schema.model,
        fingerprint=schema.model_fingerprint,
        quantization=schema.quantization,
        findings=(
            Finding("attached_to", attachment.target, f"attached to {attachment.target}, {attachment.vectors_place}"),
            Finding("beside", attachment.beside),
        ),
    )
    try:
        index = open_attached(questions.cluster, dialect, attachment)
        found = found.with_papers(attachment.searched, index.count(), index.count)
        found = replace(found, disk_bytes=index.disk_bytes())
        if not schema.vectors:
            return found
        documents = index.count_all()
        return found.plus(*_check_lacking(index, documents - found.papers, documents))
    except UnavailableError as error:
        return found.plus(Finding(trouble=error.marked))


def _check_lacking(index: AttachedIndex, lacking: int, documents: int) -> Iterator[Finding]:
    """Yield what there is to say of the documents without vectors: some are new, some can never get one."""
    if lacking <= 0:
        return
    with closing(index.lacking(_MOST_READ)) as records:
        reasons = [record.reason.rstrip(".") for record in records if isinstance(record, Rejected)]
    if reasons:
        shown = "; ".join(sorted(set(reasons))[:_MOST_SHOWN])
        line = f"documents that are no papers, so that no update gives them a vector: {len(reasons):,} ({shown})"
        yield Finding("no_papers", len(reasons), line)
    if late := lacking - len(reasons):
        read = documents if index.companion else lacking
        rest = ", which lists those that are no papers" if read > _MOST_READ else ""
        problem = f"In the attached index {index.name}, {late:,} of {documents:,} documents have no vector"
        yield Finding(trouble=f"{problem}; attach it with <update>{rest}.")


_BYTES_A_DIMENSION: Mapping[Quantization, Fraction] = {
    "none": Fraction(4),
    "int8": Fraction(1),
    "int4": Fraction(1, 2),
    "1bit": Fraction(1, 8),
}
_CORRECTION: Mapping[Quantization, int] = {"none": 0, "int8": 4, "int4": 4, "1bit": 14}
_LINK_BYTES = 8
_OVERHEAD = Fraction(11, 10)
"""For the memory that an index's vectors need for HNSW searches, outside the Java heap.

Both products publish estimates; the larger term of the two is taken. OpenSearch's is
`1.1 * (bytes of a vector + 8 * m) * n`, with 4 bytes per dimension for float vectors ("k-NN index", "Memory
estimation"), 1 for Lucene's scalar quantization ("Lucene scalar quantization", "HNSW memory estimation"), 1/2 and 1/8
for 4 bits and 1 ("Binary quantization"). Elasticsearch ("Tune approximate kNN search", "Ensure data nodes have enough
memory") counts only `4 * m` for the graph, and adds a few bytes of rounding correction to each quantized vector."""


def vector_bytes(dimension: int, quantization: Quantization) -> int:
    """Return the bytes of one vector in the form that graph searches read."""
    return math.ceil(_BYTES_A_DIMENSION[quantization] * dimension) + _CORRECTION[quantization]


def estimate(dimension: int, quantization: Quantization, count: int, m: int) -> int:
    """Return the bytes of a field of `count` vectors: `1.1 * (vector_bytes + 8 * m) * count`, m links to a node."""
    return math.ceil(_OVERHEAD * (vector_bytes(dimension, quantization) + _LINK_BYTES * m) * count)


def estimate_index(schema: IndexSchema, counts: Mapping[str, int], m: int, quantization: Quantization) -> int:
    """Return the bytes of one copy of an index's vectors, counted by field, in its own quantization or another.

    Vectors of a field with a quantization of its own keep it, where the others are whole.
    """
    kept = replace(schema, quantization=quantization)
    return sum(
        estimate(field.dimension, kept.graph_of(field) or "none", counts.get(field.format, 0), m)
        for field in schema.vectors
    )
