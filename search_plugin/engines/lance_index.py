"""One generation of an index in the embedded engine: a LanceDB table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corpora.errors import InputError
from corpora.paper import Paper
from search_plugin.engines import background
from search_plugin.engines.base import Document, Refused
from search_plugin.engines.lance_errors import explained, told
from search_plugin.engines.lance_legs import matches, search_legs, take
from search_plugin.engines.lance_rows import (
    ATTRIBUTES,
    add_columns,
    add_later_columns,
    arrow_type,
    paper_of,
    plain,
    to_arrow,
    values_of,
)
from search_plugin.filters.sql import to_sql
from search_plugin.page import Facets
from search_plugin.schema import Bm25, Field, IndexSchema
from search_plugin.values import checked

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

    from corpora.custom import FieldKind, FieldValue
    from search_plugin.filters.tree import Filter
    from search_plugin.legs import Ranking, Scored
    from search_plugin.plan import Counting, Plan

PARTITIONED_FROM = 5_000
"""From this many papers on, vectors are kept in partitions (IVF) without loss. A search looks into 20 of them, so it
is exact up to 160,000 papers. It is faster than LanceDB's plain scan; HNSW is no faster at such sizes, slower to build
and not exact (docs/benchmarks.md)."""

PARTITION = 8_192
"""Vectors in a partition, about; LanceDB's own choice is half of that."""

_LANGUAGES = ("english", "german", "french", "spanish")

_KEPT_VERSIONS = timedelta(hours=1)  # a search that began before an update still reads the files it began with


def check_bm25(bm25: Bm25) -> None:
    """Raise `InputError` for constants other than LanceDB's own."""
    if bm25 != Bm25():
        raise InputError(
            f"The embedded engine scores words by BM25 with {Bm25()}, which can't be changed",
            "leave <bm25> out, or use a cluster",
        )


def check_schema(schema: IndexSchema) -> None:
    """Raise `InputError` for what LanceDB can't hold."""
    if schema.language not in _LANGUAGES:
        raise InputError(
            f"The embedded engine analyses words in {', '.join(_LANGUAGES)}, not in {schema.language}; use a cluster."
        )
    if any(vector.unit != "paper" for vector in schema.vectors):
        raise InputError("The embedded engine holds one vector a paper for each format; use a cluster for passages.")


class LanceIndex:
    """See `Index`; `facts` are those `create_table` stored, `root` the folder of its table.

    Searches see the index as it was at the first of them, or at the last write through this object.
    """

    def __init__(self, name: str, generation: int, schema: IndexSchema, facts: bytes, root: Path, table: Any) -> None:
        self.name = name
        self.generation = generation
        self.schema = schema
        self.facts = facts
        self._table = table
        self.root = root
        self._reader: Any = None
        # Where the papers of the last search lie: a page asks for them next.
        self._rows: dict[str, int] = {}

    @told
    def upsert(self, documents: Sequence[Document]) -> Sequence[Refused]:
        """Write documents in one commit: after a crash all of them are there or none."""
        self._written()
        if documents:
            add_later_columns(self._table)
            rows = to_arrow(documents, self.schema, self._table.schema)
            self._table.merge_insert("id").when_matched_update_all().when_not_matched_insert_all().execute(rows)
        return []

    @told
    def delete(self, ids: Sequence[str]) -> None:
        """Delete papers; ids that are not there are ignored."""
        self._written()
        if ids:
            self._table.delete(_among(ids))

    @told
    def update(self, values: Mapping[str, Mapping[str, FieldValue | None]]) -> Sequence[str]:
        """Write some fields of papers that are there; returns the ids that are not there."""
        import pyarrow as pa

        rows = checked(self.schema, values)
        self._written()
        there = self.hashes(list(rows))
        add_later_columns(self._table)
        # A merge writes the same columns of all its rows.
        groups: dict[tuple[str, ...], list[str]] = {}
        for id_ in there:
            groups.setdefault(tuple(sorted(rows[id_])), []).append(id_)
        for names, ids in groups.items():
            columns = {
                "id": pa.array(ids),
                **{name: self._column(name, [rows[id_][name] for id_ in ids]) for name in names},
            }
            if names:
                self._table.merge_insert("id").when_matched_update_all().execute(pa.table(columns))
        return [id_ for id_ in rows if id_ not in there]

    @told
    def add_fields(self, fields: Sequence[Field]) -> None:
        """Add fields to the schema and empty columns to the table."""
        wider = self.schema.with_fields(fields)
        self._written()
        add_columns(self._table, [field for field in wider.added if field not in self.schema.added])
        self.schema = wider

    @told
    def finish(self) -> None:
        """Build the text, id and vector indexes, or take new rows into them."""
        from lancedb.index import FTS, BTree, IvfFlat

        self._written()
        rows = self._table.count_rows()
        words = {"language": self.schema.language.title(), "stem": True, "remove_stop_words": True}
        wanted = {"id": BTree(), "text": FTS(**words), "title": FTS(**words)} if rows else {}
        if rows >= PARTITIONED_FROM:
            wanted |= {
                vector.name: IvfFlat(distance_type=vector.similarity, target_partition_size=PARTITION)
                for vector in self.schema.vectors
            }
        built = {config.columns[0]: config for config in self._table.list_indices()}
        missing = {column: config for column, config in wanted.items() if column not in built}
        if missing or any(config.num_unindexed_rows for config in built.values()):
            self._table.optimize(cleanup_older_than=_KEPT_VERSIONS)
        for column, config in missing.items():
            self._table.create_index(column, config=config)

    @told
    def hashes(self, ids: Sequence[str]) -> Mapping[str, str]:
        """Return the content hashes of those ids that are there."""
        found = self._select(ids, ["id", "content_hash"])
        return dict(zip(found["id"].to_pylist(), found["content_hash"].to_pylist(), strict=True))

    @told
    def papers(self, ids: Sequence[str]) -> Mapping[str, Paper]:
        """Return those papers that are there."""
        rows = self._select(ids, self._present([*ATTRIBUTES, *(field.name for field in self.schema.added)])).to_pylist()
        return {row["id"]: paper_of(row, self.schema) for row in rows}

    @told
    def values(self, ids: Sequence[str], fields: Sequence[str]) -> Mapping[str, Mapping[str, FieldValue]]:
        """Return the values of some fields of those ids that are there; a field without a value is left out."""
        rows = self._select(ids, self._present(["id", *fields])).to_pylist()
        return {row["id"]: values_of(row, self.schema, fields) for row in rows}

    @told
    def documents(self, ids: Sequence[str], names: Sequence[str]) -> Mapping[str, Document]:
        """Return those papers that are there, with their vectors in some fields."""
        hashes, papers = self.hashes(ids), self.papers(ids)
        vectors = {name: self.vectors(ids, name) for name in names}
        return {id_: Document(papers[id_], hashes[id_], {n: vectors[n][id_] for n in names}) for id_ in papers}

    @told
    def vectors(self, ids: Sequence[str], field: str) -> Mapping[str, np.ndarray]:
        """Return float32 (dimension,) vectors of those ids that are there."""
        vector = self.schema.vector(field)
        found = self._select(ids, ["id", vector.name])
        rows = found[vector.name].combine_chunks().flatten().to_numpy().reshape(-1, vector.dimension)
        return dict(zip(found["id"].to_pylist(), rows, strict=True))

    @told
    def count(self, field: str | None = None) -> int:
        """Return how many papers the index holds, or how many of them have a vector in a field."""
        return int(self._table.count_rows(f"{self.schema.vector(field).name} IS NOT NULL" if field else None))

    def ids(self, where: Filter | None = None) -> Iterator[str]:
        """Yield the ids of all papers, or of those that pass a filter, in any order."""
        with explained(self.root):
            query = self._table.search().select(["id"])
            query = query.where(to_sql(where, self.schema.fields, self._table.schema.names)) if where else query
            for batch in query.to_batches():
                yield from batch["id"].to_pylist()

    @told
    def search(self, plan: Plan) -> Mapping[str, Sequence[Scored]]:
        """Return each leg's papers, best first, ties by id."""
        legs, self._rows = background.run(search_legs(self._searched(), self.schema, plan))
        return legs

    @contextmanager
    def scored_by(self, bm25: Bm25) -> Iterator[None]:
        """See `Index`: LanceDB's constants are fixed, so only what they are is taken."""
        check_bm25(bm25)
        yield

    def rank(self, plan: Plan, fusion: str, weights: Mapping[str, float]) -> Ranking | None:  # noqa: ARG002 - it can't
        """Raise `InputError`: LanceDB joins no legs."""
        raise InputError("The embedded engine can't join the legs of a search; let ses join them.")

    @told
    def fetch(self, ids: Sequence[str], counting: Counting | None = None) -> tuple[Mapping[str, Paper], Facets | None]:
        """Return those papers that are there, and facets if any are to be counted."""
        return self.papers(ids), self._facets(counting) if counting else None

    def _facets(self, counting: Counting) -> Facets:
        import pyarrow as pa

        plan, names, size = counting.plan, counting.fields, counting.size
        columns = self._present(dict.fromkeys(["id", *names]))
        rows = self._select(list(counting.found), columns)
        counted = f"the {plan.window} nearest papers"
        if plan.words:
            condition = to_sql(plan.filter, self.schema.fields, self._table.schema.names) if plan.filter else None
            matching = background.run(
                matches(self._searched(), plan.words, "text", self.count(), condition, columns)
            ).select(columns)
            seen = set(matching["id"].to_pylist())
            extra = rows.filter(pa.array([id_ not in seen for id_ in rows["id"].to_pylist()], pa.bool_()))
            rows = pa.concat_tables([matching, extra.cast(matching.schema)])
            counted = "papers that hold a word of the query" + (f", and {counted}" if plan.vectors else "")
        kinds = {field.name: field.kind for field in self.schema.fields}
        counts = {name: _counts(rows[name], kinds[name], size) if name in columns else () for name in names}
        return Facets(len(rows), counted, counts)

    def _column(self, name: str, values: list[Any]) -> Any:
        import pyarrow as pa

        field = next(field for field in self.schema.fields if field.name == name)
        return pa.array(values, arrow_type(field))

    def _present(self, names: Iterable[str]) -> list[str]:
        there = self._table.schema.names
        return [name for name in names if name in there]

    def _searched(self) -> Any:
        """LanceDB's asynchronous table, whose legs run at once."""
        if self._reader is None:
            self._reader = background.run(_open(self.root, self._table.name))
        return self._reader

    def _written(self) -> None:
        """Forget what a write may have moved."""
        self._reader, self._rows = None, {}

    def _select(self, ids: Sequence[str], columns: list[str]) -> pa.Table:
        known = self._rows
        if ids and all(id_ in known for id_ in ids):
            # By the reader that gave the addresses: in another version of the table they may mean other papers.
            rows = [known[id_] for id_ in ids]
            return background.run(take(self._searched(), rows, columns)).select(columns)
        query = self._table.search().select(columns)
        return (query.where(_among(ids)) if ids else query.where("false")).limit(max(len(ids), 1)).to_arrow()


async def _open(root: Path, name: str) -> Any:
    import lancedb

    return await (await lancedb.connect_async(root)).open_table(name)


def _among(ids: Sequence[str]) -> str:
    quoted = ", ".join("'" + id_.replace("'", "''") + "'" for id_ in ids)
    return f"id IN ({quoted})"


def _counts(column: Any, kind: FieldKind, size: int) -> tuple[tuple[str | int | float, int], ...]:
    import pyarrow as pa
    import pyarrow.compute as pc

    column = column.combine_chunks()
    if pa.types.is_boolean(column.type):
        column = column.cast(pa.string())
    if kind == "date":
        # Dates are counted by year.
        column = pc.cast(pc.utf8_slice_codeunits(column, 0, 4), pa.int32())
    if pa.types.is_list(column.type):
        # A paper counts once for a value, however often it names it.
        pairs = pa.table({"row": pc.list_parent_indices(column), "value": pc.list_flatten(column)})
        column = pairs.group_by(["row", "value"]).aggregate([])["value"].combine_chunks()
    counted = pc.value_counts(column.drop_null())
    found = [(plain(entry["values"]), entry["counts"]) for entry in counted.to_pylist() if entry["values"] != ""]
    return tuple(sorted(found, key=lambda pair: (-pair[1], pair[0]))[:size])
