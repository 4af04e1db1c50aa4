"""The state of one index in a cluster: its versions, settings and shards, and the memory of its vectors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, get_args

from corpora.errors import UnavailableError
from search_plugin.engines.cluster import lease
from search_plugin.engines.cluster.diagnosis.questions import Questions, dig, whole
from search_plugin.engines.cluster.diagnosis.shards import counted, read_shards, shard_troubles
from search_plugin.engines.cluster.dialect import GRAPH, Dialect
from search_plugin.engines.cluster.holder import seen_dead, silent
from search_plugin.engines.cluster.mapping import LOADING
from search_plugin.engines.cluster.passages import has_vector
from search_plugin.engines.cluster.physical import physical_name
from search_plugin.engines.cluster.stored import check_open, check_unchanged, schema_of
from search_plugin.engines.diagnosis import IndexDiagnosis, VectorCount, human_bytes, versions_told
from search_plugin.engines.memory import estimate_index
from search_plugin.schema import Quantization

if TYPE_CHECKING:
    from search_plugin.engines.cluster.generation import Generation
    from search_plugin.schema import IndexSchema


def check_index(questions: Questions, dialect: Dialect, name: str, generations: Sequence[Generation]) -> IndexDiagnosis:
    """Return the state of an index, given all its generations; raise `UnavailableError` if it stops answering."""
    published = next((g for g in generations if g.published), None)
    before = [g.number for g in generations if g.previous and not (published and g.number > published.number)]
    previous = next(iter(before), None)
    leftovers = tuple(sorted(g.number for g in generations if not g.published and not g.previous))
    written = bool(leftovers) and _is_written(questions, name)
    number = published.number if published else None
    index = IndexDiagnosis(
        name,
        number,
        previous,
        leftovers,
        details={"being_written": written},
        troubles=tuple(versions_told(name, number, leftovers, written=written)),
    )
    if published is None:
        return index
    try:
        check_open(published.settings, physical_name(name, published.number), _told(questions, name))
    except UnavailableError as error:
        return replace(index, troubles=(*index.troubles, error.marked))
    return _check_open(questions, dialect, index, published)


def _check_open(questions: Questions, dialect: Dialect, index: IndexDiagnosis, published: Generation) -> IndexDiagnosis:
    physical = physical_name(index.name, published.number)
    schema, changed = _schema(published, dialect, _told(questions, index.name))
    papers, vectors, counts = _counts(questions, physical, schema)
    settings = dig(questions.ask(f"/{physical}/_settings", flat_settings=True), physical, "settings")
    shards = read_shards(questions, physical)
    kinds: tuple[Quantization, ...] = get_args(Quantization)
    by_kind = {kind: estimate_index(schema, counts, GRAPH["m"], kind) for kind in kinds} if schema else {}
    one_copy = by_kind[schema.quantization] if schema else 0
    memory = one_copy * shards.started // shards.primaries if shards.primaries else one_copy
    refresh = str(settings.get("index.refresh_interval", "1s"))
    bm25 = f"BM25 with {schema.bm25}; " if schema else ""
    index = replace(index, troubles=(*index.troubles, *([changed] if changed else [])))
    index = index.read(schema, papers, vectors) if schema else replace(index, papers=papers or 0)
    return replace(
        index,
        disk_bytes=shards.store_bytes,
        details={
            **index.details,
            "mapping_unchanged": not (schema and changed),
            "refresh_interval": refresh,
            "bm25": asdict(schema.bm25) if schema else None,
            "blocks": _blocks(settings),
            "shards": asdict(shards),
            "memory_bytes": memory,
            "memory_bytes_by_quantization": by_kind,
        },
        lines=(
            f"{counted(shards.primaries, 'shard')}, {counted(shards.replicas, 'replica')}; refreshed every {refresh}; "
            f"{bm25}vectors take about {human_bytes(memory)} of memory",
        ),
        troubles=(*index.troubles, *_setting_troubles(index.name, settings), *shard_troubles(index.name, shards)),
    )


def _told(questions: Questions, name: str) -> str:
    return f"the index {name} in {questions.cluster.url}"


def _schema(generation: Generation, dialect: Dialect, told: str) -> tuple[IndexSchema | None, str]:
    """Return the schema if it can be read, and any problem with it or with the fields."""
    schema = None
    try:
        schema = schema_of(generation.mappings, told[0].upper() + told[1:])
        check_unchanged(generation.mappings, generation.settings, schema, dialect, told)
    except UnavailableError as error:
        return schema, error.marked
    return schema, ""


def _counts(
    questions: Questions, physical: str, schema: IndexSchema | None
) -> tuple[int | None, tuple[VectorCount, ...], Mapping[str, int]]:
    """Return how many papers can be found and have vectors, and how many vectors there are by format.

    Nothing is refreshed, which would be a change.
    """
    fields = schema.vectors if schema else ()
    counts = {field.name: {"filter": has_vector(field)} for field in fields}
    passages = {field.format: {"nested": {"path": field.name}} for field in fields if field.unit == "passage"}
    asked: dict[str, Any] = {**counts, **passages}
    body = {"size": 0, "track_total_hits": True, "aggs": asked}
    reply = questions.ask(f"/{physical}/_search", body, allow_partial_search_results=False)
    if reply is None:
        return None, (), {}
    found = {name: whole(dig(reply, "aggregations", name).get("doc_count")) for name in asked}
    papers = whole(dig(reply, "hits", "total").get("value"))
    vectors = tuple(VectorCount(field.format, field.dimension, found[field.name]) for field in fields)
    return papers, vectors, {field.format: found.get(field.format, found[field.name]) for field in fields}


def _setting_troubles(name: str, settings: Mapping[str, Any]) -> Iterator[str]:
    if str(settings.get("index.refresh_interval")) == LOADING["refresh_interval"]:
        yield (
            f"The index {name} still has the settings for loading, so changes are not seen and no copies are made; "
            "index the same papers again, which restores its own."
        )
    for block in _blocks(settings):
        yield (
            f"The index {name} is read-only because a node's disk was nearly full; free some space there, and "
            "the cluster removes the block by itself."
            if block == "read_only_allow_delete"
            else f"The index {name} was blocked by somebody; set its index.blocks.{block} to false."
        )


def _blocks(settings: Mapping[str, Any]) -> list[str]:
    prefix = "index.blocks."
    return sorted(
        key.removeprefix(prefix)
        for key, value in settings.items()
        if key.startswith(prefix) and str(value).lower() == "true"
    )


def _is_written(questions: Questions, name: str) -> bool:
    """Return whether somebody holds the lock of the index, as far as this machine can see."""
    holder = dig(questions.attempt(f"/{lease.INDEX}/_doc/{name}"), "_source")
    return bool(holder) and not seen_dead(holder) and not silent(holder, lease.SECONDS)
