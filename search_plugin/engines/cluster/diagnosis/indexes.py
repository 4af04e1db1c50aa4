"""The state of one index in a cluster: its versions, settings and shards, and the memory of its vectors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, get_args

from corpora.errors import UnavailableError
from corpora.paper import Rejected
from search_plugin.contract import diagnosis
from search_plugin.contract.diagnosis import Finding, IndexDiagnosis, human_bytes, missing_vectors
from search_plugin.contract.schema import Quantization
from search_plugin.engines.cluster import lease
from search_plugin.engines.cluster.attached.opening import open_attached
from search_plugin.engines.cluster.diagnosis.questions import Questions, dig, whole
from search_plugin.engines.cluster.diagnosis.shards import Shards, check_shards, counted, read_shards
from search_plugin.engines.cluster.dialect import GRAPH, Dialect
from search_plugin.engines.cluster.holder import seen_dead, silent
from search_plugin.engines.cluster.mapping import LOADING
from search_plugin.engines.cluster.passages import has_vector
from search_plugin.engines.cluster.physical import physical_name
from search_plugin.engines.cluster.stored import check_open, check_unchanged, schema_of
from search_plugin.engines.memory import estimate_index

if TYPE_CHECKING:
    from search_plugin.contract.schema import IndexSchema
    from search_plugin.engines.cluster.attached.attachment import Attachment
    from search_plugin.engines.cluster.attached.index import AttachedIndex
    from search_plugin.engines.cluster.generation import Generation

_MOST_READ = 20_000
"""Documents of an attached index that are read to see why they have no vectors."""
_MOST_TOLD = 3


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
    told = f"the index {name} in {questions.cluster.url}"
    try:
        check_open(published.settings, physical_name(name, published.number), told)
    except UnavailableError as error:
        return index.plus(Finding(trouble=error.marked))
    schema, changed = None, ""
    try:
        schema = schema_of(published.mappings, f"The{told[3:]}")
        check_unchanged(published.mappings, published.settings, schema, dialect, told)
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
    fields = schema.vectors if schema else ()
    having = {field.name: {"filter": has_vector(field)} for field in fields}
    passages = {field.format: {"nested": {"path": field.name}} for field in fields if field.unit == "passage"}
    asked: dict[str, Any] = {**having, **passages}
    body = {"size": 0, "track_total_hits": True, "aggs": asked}
    reply = questions.ask(f"/{physical}/_search", body, allow_partial_search_results=False)
    found = {name: whole(dig(reply, "aggregations", name).get("doc_count")) for name in asked}
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
        details={"attached_to": attachment.target, "beside": attachment.beside},
        lines=(f"attached to {attachment.target}, {attachment.told}",),
        model=schema.model,
        fingerprint=schema.fingerprint,
        quantization=schema.quantization,
    )
    try:
        index = open_attached(questions.cluster, dialect, attachment)
        found = replace(found.with_papers(schema, index.count(), index.count), disk_bytes=index.disk_bytes())
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
        told = "; ".join(sorted(set(reasons))[:_MOST_TOLD])
        line = f"documents that are no papers, so that no update gives them a vector: {len(reasons):,} ({told})"
        yield Finding("no_papers", len(reasons), line)
    if late := lacking - len(reasons):
        read = documents if index.companion else lacking
        rest = ", which lists those that are no papers" if read > _MOST_READ else ""
        told = f"In the attached index {index.name}, {late:,} of {documents:,} documents have no vector"
        yield Finding(trouble=f"{told}; attach it with <update>{rest}.")
