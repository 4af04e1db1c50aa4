"""One generation of an index in the embedded engine."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from corpora.errors import InputError
from search_plugin.engines.base import Document, Refused
from search_plugin.engines.embedded import approximate, columns, suggesting, titles
from search_plugin.engines.embedded.errors import explained, told
from search_plugin.engines.embedded.facts import read_facts, write_facts
from search_plugin.engines.embedded.files import LOG, NOTHING, Appended, Files, folder_bytes
from search_plugin.engines.embedded.filters import to_tantivy
from search_plugin.engines.embedded.legs import lexical_leg, vector_field, vector_leg
from search_plugin.engines.embedded.listing import listing
from search_plugin.engines.embedded.records import Stored, to_record, with_values
from search_plugin.engines.embedded.snapshot import Snapshot
from search_plugin.engines.embedded.words import META, counted, create_words, open_words, rows_of, spelled
from search_plugin.page import Facets
from search_plugin.plan import LEXICAL, LISTED
from search_plugin.schema import Bm25
from search_plugin.values import checked

if TYPE_CHECKING:
    import numpy as np

    from corpora.custom import FieldValue
    from corpora.paper import Paper
    from search_plugin.filters.tree import Filter
    from search_plugin.legs import Listing, Ranking, Scored
    from search_plugin.ordering import Sort
    from search_plugin.plan import Counting, Plan
    from search_plugin.schema import Field, IndexSchema

_WORDS = "words"
_UNCOLUMNED = 2_000
"""Maximum rows after those that the files of columns and titles cover; searches that need these rows read them."""


def check_bm25(bm25: Bm25) -> None:
    """Raise `InputError` for constants other than tantivy's own."""
    if bm25 != Bm25():
        raise InputError(
            f"The embedded engine scores words by BM25 with {Bm25()}, which can't be changed",
            "leave <bm25> out, or use a cluster",
        )


def create_generation(folder: Path, schema: IndexSchema) -> None:
    """Make the empty files of a generation in an empty folder."""
    _files(folder, schema).create()
    create_words(folder / _WORDS)


def _files(folder: Path, schema: IndexSchema) -> Files:
    return Files(folder, {vector.name: vector.dimension for vector in schema.vectors})


class EmbeddedIndex:
    """See `Index`. Threads may share it; every read sees one commit: the last one at its start.

    Args:
        name: Of the index.
        generation: Its number.
        schema: Of the index.
        folder: Of the generation.
    """

    def __init__(self, name: str, generation: int, schema: IndexSchema, folder: Path) -> None:
        self.name, self.generation, self.schema, self.folder = name, generation, schema, folder
        self.root = folder.parent
        with explained(self.root):
            self._files = _files(folder, schema)
            self._words = open_words(folder / _WORDS, schema)
        self._lock = threading.Lock()
        self._seen: tuple[object, Snapshot] | None = None

    @told
    def upsert(self, documents: Sequence[Document]) -> Sequence[Refused]:
        """Write documents in one commit: after a crash, either all of them exist or none."""
        refused: list[Refused] = []
        latest: dict[str, tuple[Document, bytes]] = {}
        for document in documents:
            self._check_dimensions(document)
            try:
                record = to_record(Stored(document.paper, document.content_hash))
                self._check_numbers(document)
                latest[document.paper.id] = document, record
            except ValueError as error:
                refused.append(Refused(document.paper.id, f"The embedded engine would not take it: {error}"))
        self._append(
            [(document.paper, record, document.vectors) for document, record in latest.values()], self._snapshot()
        )
        return refused

    @told
    def delete(self, ids: Sequence[str]) -> None:
        """Delete papers; unknown ids are ignored."""
        snapshot = self._snapshot()
        gone = sorted(snapshot.find(ids))
        if gone:
            import numpy as np

            rows = np.zeros(len(gone), self._files.row_type)
            rows["offset"], rows["replaces"] = snapshot.lengths.papers, gone
            self._commit(snapshot, Appended(rows, b"", {}), [], [snapshot.id_of(int(row)) for row in gone])

    @told
    def update(self, values: Mapping[str, Mapping[str, FieldValue | None]]) -> Sequence[str]:
        """Write some fields of existing papers, in one commit; returns the ids that do not exist."""
        changes = checked(self.schema, values)
        snapshot = self._snapshot()
        changed = []
        for row in sorted(snapshot.find(list(changes))):
            stored = snapshot.stored(row)
            paper = with_values(stored.paper, changes[stored.paper.id])
            changed.append((paper, to_record(Stored(paper, stored.content_hash)), row))
        self._append(changed, snapshot)
        there = {paper.id for paper, _, _ in changed}
        return [id_ for id_ in changes if id_ not in there]

    @told
    def add_fields(self, fields: Sequence[Field]) -> None:
        """Add fields to the schema; a missing value takes no space."""
        schema = self.schema.with_fields(fields)
        if schema != self.schema:
            write_facts(self.folder, replace(read_facts(self.folder), schema=schema))
            self.schema = schema
            self._words = open_words(self.folder / _WORDS, schema)
            self._seen = None

    @told
    def finish(self) -> None:
        """Update columns, titles and vector indexes if there are many new rows."""
        snapshot = self._snapshot()
        base = columns.load(self.folder, len(snapshot.rows))
        if len(snapshot.rows) - base.stop > _UNCOLUMNED:
            columns.save(self.folder, columns.joined(base, snapshot.gathered(base.stop)))
        keys = titles.load(self.folder, len(snapshot.rows))
        if len(snapshot.rows) - len(keys) > _UNCOLUMNED:
            titles.save(self.folder, titles.joined(keys, snapshot.later_titles))
        for field in self.schema.vectors:
            approximate.extend(self.folder, field.name, snapshot.vectors[field.name], field.similarity)
        self._seen = None

    @told
    def hashes(self, ids: Sequence[str]) -> Mapping[str, str]:
        """Return the content hashes of the ids that exist."""
        return {stored.paper.id: stored.content_hash for stored in self._stored(ids)}

    @told
    def papers(self, ids: Sequence[str]) -> Mapping[str, Paper]:
        """Return the papers that exist."""
        snapshot = self._seen_last()
        return {stored.paper.id: stored.paper for stored in map(snapshot.stored, snapshot.find(ids))}

    @told
    def named(self, ids: Sequence[str], identifiers: Sequence[str]) -> Mapping[str, Paper]:
        """Return the papers that have one of some ids or one of some identifiers."""
        snapshot = self._snapshot()
        rows = rows_of(snapshot.searcher, self._words.named(ids, identifiers), len(snapshot.rows))
        papers = [snapshot.stored(row).paper for _, row in rows]
        return {paper.id: paper for paper in papers}

    @told
    def spelled(self, patterns: Mapping[str, Sequence[str]]) -> Mapping[str, Sequence[str]]:
        """Return the values of keyword fields that regular expressions match; see `Index`."""
        return spelled(self._snapshot().searcher, self._paths(patterns), patterns)

    @told
    def word_counts(self, words: Sequence[str]) -> Mapping[str, int]:
        """Return how many papers hold each of some words in title or abstract, compared by stem."""
        return suggesting.word_counts(self._snapshot().searcher, self._words, words)

    @told
    def resembling(self, terms: Sequence[str], distance: int, size: int) -> Sequence[Paper]:
        """Return papers whose title or abstract holds a term like one of some terms; see `Index`."""
        snapshot = self._snapshot()
        found = rows_of(snapshot.searcher, suggesting.resembling(self._words, terms, distance), size)
        return [snapshot.stored(row).paper for _, row in found]

    @staticmethod
    def _paths(fields: Iterable[str]) -> dict[str, str]:
        """Return tantivy's names of fields."""
        return {field: field if field == "id" else f"fields.{field}" for field in fields}

    @told
    def values(self, ids: Sequence[str], fields: Sequence[str]) -> Mapping[str, Mapping[str, FieldValue]]:
        """Return the values of some fields of the ids that exist; a field without a value is left out."""
        papers = [stored.paper for stored in self._stored(ids)]
        held = {paper.id: {name: paper.value(name) for name in fields} for paper in papers}
        return {id_: {name: value for name, value in row.items() if value is not None} for id_, row in held.items()}

    @told
    def documents(self, ids: Sequence[str], fields: Sequence[str]) -> Mapping[str, Document]:
        """Return the papers that exist, with their vectors of some formats."""
        snapshot = self._seen_last()
        rows = [(snapshot.stored(row), row) for row in snapshot.find(ids)]
        return {
            stored.paper.id: Document(
                stored.paper, stored.content_hash, {name: self._vectors_of(snapshot, row, name) for name in fields}
            )
            for stored, row in rows
        }

    @told
    def vectors(self, ids: Sequence[str], field: str) -> Mapping[str, np.ndarray]:
        """Return float32 (dimension,) vectors of a format, or (passages, dimension), of the ids that exist."""
        snapshot = self._seen_last()
        return {snapshot.id_of(row): self._vectors_of(snapshot, row, field) for row in snapshot.find(ids)}

    @told
    def count(self, field: str | None = None) -> int:
        """Return how many papers the index holds, or how many of them have a vector of a format."""
        snapshot = self._snapshot()
        if field is None:
            return int(snapshot.live.sum())
        return int((snapshot.live & (snapshot.rows[f"{vector_field(self.schema, field).name}.count"] > 0)).sum())

    @told
    def disk_bytes(self) -> int:
        """Return how much disk this generation takes."""
        return folder_bytes(self.folder)

    @told
    def tally(self, field: str, size: int) -> Sequence[tuple[FieldValue, int]]:
        """Return the most frequent values of a field over all papers, with their counts; equal counts by value."""
        from tantivy import Query

        _, counts = counted(self._snapshot().searcher, Query.all_query(), {field: f"fields.{field}"}, size)
        return counts[field]

    def ids(self, where: Filter | None = None) -> Iterator[str]:
        """Yield the ids of all papers, or of the papers that match a filter, in any order."""
        with explained(self.root):
            snapshot = self._snapshot()
            for row in snapshot.passing(where).nonzero()[0]:
                yield snapshot.id_of(int(row))

    @told
    def search(self, plan: Plan) -> Mapping[str, Sequence[Scored]]:
        """Return the papers of each leg, best first; equal scores are ordered by id."""
        snapshot = self._snapshot()
        legs: dict[str, list[Scored]] = {}
        if plan.words:
            legs[LEXICAL] = lexical_leg(snapshot, self._words, plan)
        for clause in plan.vectors:
            legs[clause.field] = vector_leg(snapshot, self.schema, plan, clause)
        return legs

    @contextmanager
    def scored_by(self, bm25: Bm25) -> Iterator[None]:
        """See `Index`: tantivy's constants are fixed, so only those are accepted."""
        check_bm25(bm25)
        yield

    def rank(self, plan: Plan, fusion: str, weights: Mapping[str, float]) -> Ranking | None:  # noqa: ARG002 - ses does
        """Raise `InputError`: the legs are so fast that joining them here would gain nothing."""
        raise InputError("The embedded engine can't join the legs of a search", "let ses join them")

    @told
    def listed(self, where: Filter | None, order: Sort, size: int) -> Listing:
        """Return the first papers of those that match a filter, in an order."""
        return listing(self._snapshot(), where, order, size)

    @told
    def fetch(self, ids: Sequence[str], counting: Counting | None = None) -> tuple[Mapping[str, Paper], Facets | None]:
        """Return the papers that exist, and the requested facet counts."""
        return self.papers(ids), self._facets(counting) if counting else None

    def _facets(self, counting: Counting) -> Facets:
        """Count the papers of `Counting`."""
        from tantivy import Occur, Query

        plan = counting.plan
        query = self._words.among(list(counting.found))
        told = f"the {plan.window} nearest papers"
        if plan.order:
            query, told = (to_tantivy(plan.filter, self._words) if plan.filter else Query.all_query()), LISTED
        elif plan.words:
            matching = [(Occur.Must, self._words.matching(plan, 0.0))]
            if plan.filter:
                matching.append((Occur.Must, to_tantivy(plan.filter, self._words)))
            query = Query.boolean_query([(Occur.Should, Query.boolean_query(matching)), (Occur.Should, query)])
            told = "papers that hold a word of the query" + (f", and {told}" if plan.vectors else "")
        names = self._paths(counting.fields)
        matches, counts = counted(self._seen_last().searcher, query, names, counting.size)
        return Facets(matches, told, {field: tuple(counts[field]) for field in counting.fields})

    @told
    def damaged(self) -> list[str]:
        """Return the names of the files that differ from what was written; reads all of them."""
        snapshot = self._snapshot()
        # A log that has lost its lines is valid up to there.
        lost = [LOG] if snapshot.searcher.num_docs != int(snapshot.live.sum()) else []
        return list(dict.fromkeys([*self._files.damaged(snapshot.opstamp), *lost]))

    def _seen_last(self) -> Snapshot:
        """Return the snapshot of the last search, so that a page shows one state."""
        seen = self._seen
        return seen[1] if seen else self._snapshot()

    def _snapshot(self) -> Snapshot:
        """Return a snapshot of the last commit, of any writer."""
        status = (self.folder / _WORDS / META).stat()
        mark = status.st_ino, status.st_mtime_ns
        with self._lock:
            if self._seen is None or self._seen[0] != mark:
                self._seen = mark, Snapshot(self._files, self._words)
            return self._seen[1]

    def _stored(self, ids: Sequence[str]) -> list[Stored]:
        snapshot = self._snapshot()
        return [snapshot.stored(row) for row in snapshot.find(ids)]

    def _append(
        self, written: Sequence[tuple[Paper, bytes, Mapping[str, np.ndarray] | int]], snapshot: Snapshot
    ) -> None:
        """Commit papers: each with its record, and with new vectors or the row that already holds them."""
        import numpy as np

        if not written:
            return
        older = {snapshot.id_of(row): row for row in snapshot.find([paper.id for paper, _, _ in written])}
        rows = np.zeros(len(written), self._files.row_type)
        fresh: dict[str, list[np.ndarray]] = {name: [] for name in self._files.dimensions}
        lengths = dict(snapshot.lengths.vectors)
        offset = snapshot.lengths.papers
        for row, (paper, record, held) in zip(rows, written, strict=True):
            row["offset"], row["size"], row["replaces"] = offset, len(record), older.get(paper.id, NOTHING)
            offset += len(record)
            for field in self.schema.vectors:
                name = field.name
                if isinstance(held, int):
                    given = tuple(snapshot.rows[held][[f"{name}.start", f"{name}.count"]])
                else:
                    matrix = np.asarray(held[field.format], np.float32).reshape(-1, field.dimension)
                    given = lengths[name], len(matrix)
                    fresh[name].append(matrix)
                    lengths[name] += len(matrix)
                row[f"{name}.start"], row[f"{name}.count"] = given
        batch = Appended(
            rows,
            b"".join(record for _, record, _ in written),
            {name: np.concatenate(parts) for name, parts in fresh.items() if parts},
        )
        self._commit(snapshot, batch, [paper for paper, _, _ in written], list(older))

    def _commit(self, snapshot: Snapshot, batch: Appended, papers: Sequence[Paper], replaced: Sequence[str]) -> None:
        self._files.append(snapshot.opstamp, snapshot.lengths, batch)
        self._words.commit(enumerate(papers, snapshot.lengths.rows), replaced)
        self._seen = None

    def _vectors_of(self, snapshot: Snapshot, row: int, format_name: str) -> np.ndarray:
        field = vector_field(self.schema, format_name)
        start, count = (int(snapshot.rows[row][f"{field.name}.{what}"]) for what in ("start", "count"))
        held: np.ndarray = snapshot.vectors[field.name][start : start + count].copy()
        return held if field.unit == "passage" else held[0]

    def _check_dimensions(self, document: Document) -> None:
        for field in self.schema.vectors:
            if (size := document.vectors[field.format].shape[-1]) != field.dimension:
                raise InputError(
                    f"The model gives vectors of {size} numbers and the index holds {field.dimension}",
                    "index again with <fresh>",
                )

    def _check_numbers(self, document: Document) -> None:
        import numpy as np

        for field in self.schema.vectors:
            if not np.isfinite(document.vectors[field.format]).all():
                raise ValueError(f"its {field.format} vector holds values that are not numbers")
