"""How one index in a cluster is: its versions, shards, settings, and what its vectors take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Protocol

from corpora.errors import UnavailableError
from search_plugin.engines.cluster import lease
from search_plugin.engines.cluster.diagnosis.nodes import dig, whole
from search_plugin.engines.cluster.diagnosis.shards import COLUMNS, Shards, plain_reason, read_shards
from search_plugin.engines.cluster.dialect import GRAPH, Dialect
from search_plugin.engines.cluster.holder import seen_dead, silent
from search_plugin.engines.cluster.index import physical_name
from search_plugin.engines.cluster.mapping import LOADING, check_open, check_unchanged, schema_of
from search_plugin.engines.diagnosis import (
    IndexDiagnosis,
    VectorCount,
    human_bytes,
    missing_vectors,
    versions_told,
)
from search_plugin.engines.memory import estimate_index

if TYPE_CHECKING:
    from search_plugin.engines.cluster.diagnosis.questions import Questions
    from search_plugin.schema import IndexSchema, Quantization


class Generation(Protocol):
    """A physical index of ses, as the engine finds it."""

    @property
    def number(self) -> int:
        """Which version."""

    @property
    def mappings(self) -> Mapping[str, Any]:
        """As the cluster shows them."""

    @property
    def settings(self) -> Mapping[str, Any]:
        """Those of the index, nested."""

    @property
    def published(self) -> bool:
        """Whether it is searched."""

    @property
    def previous(self) -> bool:
        """Whether it is kept for a rollback."""


@dataclass(frozen=True, slots=True)
class CheckedIndex:
    """An index and what is wrong with it.

    Attributes:
        diagnosis: How it is.
        troubles: Each one line that says what to do.
        memory: Bytes that its vectors take, with all their copies.
        native_memory: Those of them that faiss keeps, for which OpenSearch has a limit of its own.
    """

    diagnosis: IndexDiagnosis
    troubles: tuple[str, ...]
    memory: int = 0
    native_memory: int = 0


def check_index(questions: Questions, dialect: Dialect, name: str, generations: Sequence[Generation]) -> CheckedIndex:
    """Ask a cluster about one of its indexes.

    Args:
        questions: To the cluster.
        dialect: Of the product.
        name: Of the index.
        generations: All there are of it.

    Returns:
        How it is.

    Raises:
        UnavailableError: If the cluster does not answer any more.
    """
    published = next((g for g in generations if g.published), None)
    previous = next((g.number for g in generations if g.previous), None)
    leftovers = tuple(sorted(g.number for g in generations if not g.published and not g.previous))
    written = bool(leftovers) and _is_written(questions, name)
    number = published.number if published else None
    troubles = versions_told(name, number, leftovers, written=written)
    nothing = IndexDiagnosis(name, number, previous, leftovers, 0, (), "", "", "", 0, {"being_written": written}, ())
    if published is None:
        return CheckedIndex(nothing, tuple(troubles))
    physical = physical_name(name, published.number)
    told = f"the index {name} in {questions.cluster.url}"
    try:
        check_open(published.settings, physical, told)
    except UnavailableError as error:
        return CheckedIndex(nothing, (*troubles, str(error)))
    schema, changed = _schema(published, dialect, told, troubles)
    papers, vectors = _counts(questions, physical, schema)
    if papers is not None:
        troubles += missing_vectors(name, papers, vectors)
    settings = dig(questions.ask(f"/{physical}/_settings", flat_settings=True), physical, "settings")
    shards = _shards(questions, physical)
    troubles += [*_settings_told(name, settings), *_shards_told(name, shards)]
    counts = {vector.field: vector.count for vector in vectors}
    one = estimate_index(schema, counts, GRAPH["m"], schema.quantization) if schema else 0
    memory = one * shards.started // shards.primaries if shards.primaries else one
    refresh = str(settings.get("index.refresh_interval", "1s"))
    diagnosis = IndexDiagnosis(
        name=name,
        generation=published.number,
        previous=previous,
        leftovers=leftovers,
        papers=papers or 0,
        vectors=vectors,
        model=schema.model if schema else "",
        fingerprint=schema.fingerprint if schema else "",
        quantization=schema.quantization if schema else "",
        disk_bytes=shards.store_bytes,
        details={
            "being_written": written,
            "mapping_unchanged": not changed,
            "refresh_interval": refresh,
            "bm25": asdict(schema.bm25) if schema else None,
            "blocks": _blocks(settings),
            "shards": asdict(shards),
            "memory_bytes": memory,
            "memory_bytes_by_quantization": _compared(schema, counts),
        },
        lines=(
            f"{_number(shards.primaries, 'shard')}, {_number(shards.replicas, 'replica')}; refreshed every {refresh}; "
            f"{f'BM25 with {schema.bm25}; ' if schema else ''}vectors take about {human_bytes(memory)} of memory",
        ),
    )
    native = memory if "faiss" in _vector_engines(published) else 0
    return CheckedIndex(diagnosis, tuple(troubles), memory, native)


def _schema(
    generation: Generation, dialect: Dialect, told: str, troubles: list[str]
) -> tuple[IndexSchema | None, bool]:
    """Return the schema where it can be read, and whether somebody changed the fields; adds what is wrong."""
    schema = None
    try:
        schema = schema_of(generation.mappings, told[0].upper() + told[1:])
        check_unchanged(generation.mappings, generation.settings, schema, dialect, told)
    except UnavailableError as error:
        troubles.append(str(error))
        return schema, schema is not None
    return schema, False


def _counts(
    questions: Questions, physical: str, schema: IndexSchema | None
) -> tuple[int | None, tuple[VectorCount, ...]]:
    """Return how many papers can be found and have vectors, without a refresh: asking changes nothing."""
    fields = schema.vectors if schema else ()
    body = {
        "size": 0,
        "track_total_hits": True,
        "aggs": {field.name: {"filter": {"exists": {"field": field.name}}} for field in fields},
    }
    reply = questions.ask(f"/{physical}/_search", body, allow_partial_search_results=False)
    if reply is None:
        return None, ()
    found = [
        VectorCount(field.name, field.dimension, whole(dig(reply, "aggregations", field.name).get("doc_count")))
        for field in fields
    ]
    return whole(dig(reply, "hits", "total").get("value")), tuple(found)


def _shards(questions: Questions, physical: str) -> Shards:
    def explain(shard: int, primary: bool) -> str:  # noqa: FBT001 - the signature is that of `Explain`
        asked = {"index": physical, "shard": shard, "primary": primary}
        return plain_reason(questions.ask("/_cluster/allocation/explain", asked) or {})

    rows = questions.ask(f"/_cat/shards/{physical}", format="json", bytes="b", h=COLUMNS)
    return read_shards(rows or (), explain)


def _shards_told(name: str, shards: Shards) -> list[str]:
    return [
        f"Of the index {name}, {_number(len(missing.shards), 'shard')} of {shards.primaries} "
        + ("can't be searched" if missing.primary else "will be lost if a node is: there is no replica")
        + f" ({missing.why})."
        for missing in shards.unassigned
    ]


def _settings_told(name: str, settings: Mapping[str, Any]) -> list[str]:
    told = []
    if str(settings.get("index.refresh_interval")) == LOADING["refresh_interval"]:
        told.append(
            f"The index {name} still has the settings for loading, so that changes are not seen and no copies are "
            "made; run the same `ses index` again, which puts them right."
        )
    for block in _blocks(settings):
        if block == "read_only_allow_delete":
            told.append(
                f"The index {name} is read-only because a node's disk was nearly full; free some space there, and "
                "the cluster takes the block away by itself."
            )
        else:
            told.append(f"The index {name} was blocked by somebody; set its index.blocks.{block} to false.")
    return told


def _blocks(settings: Mapping[str, Any]) -> list[str]:
    prefix = "index.blocks."
    names = (key.removeprefix(prefix) for key, value in settings.items() if key.startswith(prefix) and _on(value))
    return sorted(names)


def _on(value: Any) -> bool:
    return str(value).lower() == "true"


def _vector_engines(generation: Generation) -> set[str]:
    fields = dig(generation.mappings, "properties").values()
    return {str(dig(field, "method").get("engine", "")) for field in fields}


def _compared(schema: IndexSchema | None, counts: Mapping[str, int]) -> dict[str, int]:
    """What one copy would take, kept in each way."""
    kinds: tuple[Quantization, ...] = ("none", "int8", "int4", "1bit")
    return {kind: estimate_index(schema, counts, GRAPH["m"], kind) for kind in kinds} if schema else {}


def _is_written(questions: Questions, name: str) -> bool:
    """Return whether somebody holds the right to write the index, as far as can be told from here."""
    holder = dig(questions.found(f"/{lease.INDEX}/_doc/{name}"), "_source")
    return bool(holder) and not seen_dead(holder) and not silent(holder, lease.SECONDS)


def _number(count: int, noun: str) -> str:
    return f"{count} {noun}" + ("" if count == 1 else "s")
