"""One generation of an index in the embedded engine. Each read sees one commit: the last one, or a pinned one."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from pathlib import Path

from corpora.cores import cores
from corpora.custom import FieldValue
from corpora.errors import InputError
from corpora.lazy import np, tantivy
from corpora.paper import Paper
from search_plugin.contract.engine import Document, Index, Refused
from search_plugin.contract.legs import Facets, Listing, Position, Scored, Sort
from search_plugin.contract.plan import Counting, Plan
from search_plugin.contract.schema import SPARSE, Bm25, Field, IndexSchema
from search_plugin.contract.tree import Filter
from search_plugin.engines.embedded import derived
from search_plugin.engines.embedded.errors import explained, explains_errors
from search_plugin.engines.embedded.files import PAPERS, Appended, Files, folder_bytes
from search_plugin.engines.embedded.generations import read_facts, write_facts
from search_plugin.engines.embedded.legs import column_paths, count_facets, counted, listing, matching_values, run_legs
from search_plugin.engines.embedded.queries import document_frequencies, fuzzy, named, rows_of
from search_plugin.engines.embedded.records import Stored, Written, encoded
from search_plugin.engines.embedded.snapshot import Snapshot
from search_plugin.engines.embedded.vectors import stored_type
from search_plugin.engines.embedded.words import META, create_words, open_words

WORDS_FOLDER = "words"


def files_of(folder: Path, schema: IndexSchema) -> Files:
    """Return the files of a generation."""
    return Files(folder, {field.name: stored_type(field) for field in schema.written})


def check_bm25(bm25: Bm25) -> None:
    """Raise `InputError` for constants other than tantivy's own."""
    if bm25 != Bm25():
        raise InputError(
            f"The embedded engine scores words by BM25 with {Bm25()}, which can't be changed",
            "leave <bm25> out, or use a cluster",
        )


def create_generation(folder: Path, schema: IndexSchema) -> None:
    """Make the empty files of a generation in an empty folder."""
    files_of(folder, schema).create()
    create_words(folder / WORDS_FOLDER)


@explains_errors
class EmbeddedIndex(Index):
    """One generation of an index; see `Index`. Threads may share it; one process writes at a time."""

    def __init__(self, name: str, generation: int, schema: IndexSchema, folder: Path) -> None:
        self.name, self.generation, self.schema, self.folder = name, generation, schema, folder
        self.root = folder.parent
        with explained(self.root):
            self._files = files_of(folder, schema)
            self._words = open_words(folder / WORDS_FOLDER, schema)
        self._lock = threading.Lock()
        # More threads than cores would take the interpreter's lock from each other at every call of a library.
        self._turns = threading.BoundedSemaphore(cores())
        self._seen: tuple[object, Snapshot] | None = None
        self._pinned: Snapshot | None = None

    def pinned(self) -> EmbeddedIndex:
        """Return this index with the last commit for all reads; see `Index`."""
        index = copy(self)
        index._pinned = self._snapshot()
        return index

    def find_papers(self, ids: Sequence[str], identifiers: Sequence[str]) -> Mapping[str, Paper]:
        """Return the papers that have one of some ids or one of some identifiers."""
        snapshot = self._snapshot()
        rows, _ = rows_of(snapshot.searcher, named(self._words, ids, identifiers), len(snapshot.rows))
        papers = [snapshot.stored(row).paper for row in rows]
        return {paper.id: paper for paper in papers}

    def matching_values(self, patterns: Mapping[str, Sequence[str]]) -> Mapping[str, Sequence[str]]:
        """Return the values of keyword fields that regular expressions match; see `Index`."""
        return matching_values(self._snapshot().searcher, column_paths(patterns), patterns)

    def document_frequencies(self, words: Sequence[str]) -> Mapping[str, int]:
        """Return how many papers hold each of some words in title or abstract, compared by stem."""
        snapshot = self._snapshot()
        return snapshot.counts.look_up(words, partial(document_frequencies, snapshot.searcher, self._words))

    def fuzzy_matches(self, terms: Sequence[str], distance: int, size: int) -> Sequence[Paper]:
        """Return papers whose title or abstract holds a term like one of some terms; see `Index`."""
        snapshot = self._snapshot()
        rows, _ = rows_of(snapshot.searcher, fuzzy(self._words, terms, distance), size)
        return [snapshot.stored(row).paper for row in rows]

    def cached(self, key: str, find: Callable[[], str]) -> str:
        """Return what `find` returned for the same key in the same commit, or call it."""
        return self._snapshot().answers.look_up([key], lambda _: {key: find()})[key]

    def documents(self, ids: Sequence[str], fields: Sequence[str]) -> Mapping[str, Document]:
        """Return the papers that exist, with their vectors of some formats."""
        snapshot = self._snapshot()
        rows = [(snapshot.stored(row), row) for row in snapshot.find(ids)]
        wanted = {name: self.schema.leg(name) for name in fields}
        return {
            stored.paper.id: Document(
                stored.paper,
                stored.content_hash,
                {name: snapshot.vectors_of(row, field) for name, field in wanted.items()},
            )
            for stored, row in rows
        }

    def vectors(self, ids: Sequence[str], field: str) -> Mapping[str, np.ndarray]:
        """Return float32 (dimension,) vectors of a format, or (passages, dimension), of the ids that exist."""
        return self._snapshot().vectors_by_id(ids, self.schema.leg(field))

    def count(self, field: str | None = None) -> int:
        """Return how many papers the index holds, or how many of them have a vector of a format."""
        snapshot = self._snapshot()
        if field is None or field == SPARSE:  # every paper has one, which may have no entry
            return int(snapshot.live.sum())
        return int((snapshot.live & (snapshot.rows[f"{self.schema.leg(field).name}.count"] > 0)).sum())

    def revision(self) -> str:
        """Return a text that changes whenever what searches find may have changed; see `Index`."""
        # The folder changes when files are derived or the schema gets fields. It also tells an index from one that was
        # dropped before it, and had as many commits.
        folder = self.folder.stat()
        return f"{self.generation}-{self._snapshot().opstamp}-{folder.st_ino:x}-{folder.st_mtime_ns:x}"

    def disk_bytes(self) -> int:
        """Return how much disk this generation takes."""
        return folder_bytes(self.folder)

    def value_counts(self, field: str, size: int) -> Sequence[tuple[FieldValue, int]]:
        """Return the most frequent values of a field over all papers, with their counts; equal counts by value."""
        _, counts = counted(self._snapshot().searcher, tantivy.Query.all_query(), {field: f"fields.{field}"}, size)
        return counts[field]

    def ids(self, where: Filter | None = None) -> Iterator[str]:
        """Yield the ids of all papers, or of the papers that match a filter, in any order."""
        with explained(self.root):
            snapshot = self._snapshot()
            for row in snapshot.passing(where).nonzero()[0]:
                yield snapshot.id_of(int(row))

    def search(self, plan: Plan) -> Mapping[str, Sequence[Scored]]:
        """Return the papers of each leg, best first; equal scores are ordered by id."""
        with self._turns:
            return run_legs(self._snapshot(), self._words, self.schema, plan)

    def listed(self, where: Filter | None, order: Sort, size: int, after: Position | None = None) -> Listing:
        """Return the first papers of those that match a filter, in an order, or the next ones after a position."""
        return listing(self._snapshot(), where, order, size, after)

    def fetch(self, ids: Sequence[str], counting: Counting | None = None) -> tuple[Mapping[str, Paper], Facets | None]:
        """Return the papers that exist, and the requested facet counts."""
        with self._turns:
            facets = count_facets(self._words, self._snapshot().searcher, counting) if counting else None
            return self.papers(ids), facets

    def upsert(self, documents: Sequence[Document]) -> Sequence[Refused]:
        """Write documents in one commit: after a crash, either all of them exist or none."""
        from search_plugin.contract.values import check_dimensions, check_numbers

        refused: list[Refused] = []
        latest: dict[str, Written] = {}
        for document in documents:
            check_dimensions(document.vectors, self.schema)
            try:
                paper = encoded(Stored(document.paper, document.content_hash))
                check_numbers(document.vectors, self.schema)
                latest[document.paper.id] = Written(document.paper, paper, document.vectors)
            except ValueError as error:
                refused.append(Refused(document.paper.id, f"The embedded engine would not take it: {error}"))
        self._append(list(latest.values()), self._snapshot())
        return refused

    def delete(self, ids: Sequence[str]) -> None:
        """Delete papers; unknown ids are ignored."""
        snapshot = self._snapshot()
        gone = sorted(snapshot.find(ids))
        if gone:
            rows = np.zeros(len(gone), self._files.row_type)
            rows["offset"], rows["replaces"] = snapshot.lengths.papers, gone
            with self._words.committing([], [snapshot.id_of(row) for row in gone]):
                self._files.append(snapshot.opstamp, snapshot.lengths, Appended(rows, b"", {}))
            self._seen = None

    def update(self, values: Mapping[str, Mapping[str, FieldValue | None]]) -> Sequence[str]:
        """Write some fields of existing papers, in one commit; returns the ids that do not exist."""
        from search_plugin.contract.values import checked, with_values

        changes = checked(self.schema, values)
        snapshot = self._snapshot()
        changed = []
        for row in sorted(snapshot.find(list(changes))):
            stored = snapshot.stored(row)
            paper = with_values(stored.paper, changes[stored.paper.id])
            changed.append(Written(paper, encoded(Stored(paper, stored.content_hash)), row))
        self._append(changed, snapshot)
        there = {one.paper.id for one in changed}
        return [id_ for id_ in changes if id_ not in there]

    def add_fields(self, fields: Sequence[Field]) -> None:
        """Add fields to the schema; a missing value takes no space."""
        schema = self.schema.with_fields(fields)
        if schema != self.schema:
            write_facts(self.folder, replace(read_facts(self.folder), schema=schema))
            self.schema = schema
            self._words = open_words(self.folder / WORDS_FOLDER, schema)
            self._seen = None

    def finish(self) -> None:
        """Update columns, titles and vector indexes if there are many new rows, and merge the word index."""
        from search_plugin.engines.embedded.merging import merge_segments
        from search_plugin.engines.embedded.writing import cover_rows, cover_vectors

        merge_segments(self._words, self.schema, self._snapshot())
        snapshot = self._snapshot()
        cover_rows(self._files, snapshot, self._words.kinds)
        for field in self.schema.written:
            cover_vectors(self._files, snapshot, field)
        self._seen = None

    def damaged(self) -> list[str]:
        """Return what differs from what was written, without derived files; reads all of it."""
        snapshot = self._snapshot()
        appended = self._files.damaged(snapshot.opstamp)
        words = [f"{WORDS_FOLDER}/{name}" for name in self._words.damaged()]
        return [*appended, *words, *(snapshot.damaged_records() if PAPERS in appended else [])]

    def damaged_derived(self) -> Mapping[Path, str]:
        """Return which derived folders are damaged, and why; reads all of them."""
        return derived.damaged(self.folder)

    def derive_again(self, folders: Iterable[Path]) -> None:
        """Delete derived folders, and make them again of papers and vectors."""
        for folder in folders:
            derived.remove(folder)
        self.finish()

    def _snapshot(self) -> Snapshot:
        """Return a snapshot of the last commit, of any writer, or the one that this index is pinned to."""
        if self._pinned:
            return self._pinned
        with self._lock:
            seen = self._seen
            if seen is None or seen[0] != self._commit_state():
                seen = self._seen = self._last()
            return seen[1]

    def _last(self) -> tuple[object, Snapshot]:
        while True:
            state = self._commit_state()
            try:
                return state, Snapshot(self._files, self._words)
            except (OSError, ValueError):
                # A writer may have been quicker, and have committed between two looks at the files.
                if state == self._commit_state():
                    raise

    def _commit_state(self) -> tuple[int, int]:
        """Return what differs after each commit."""
        status = (self.folder / WORDS_FOLDER / META).stat()
        return status.st_ino, status.st_mtime_ns

    def _stored(self, ids: Sequence[str]) -> list[Stored]:
        snapshot = self._snapshot()
        return [snapshot.stored(row) for row in snapshot.find(ids)]

    def _append(self, written: Sequence[Written], snapshot: Snapshot) -> None:
        from search_plugin.engines.embedded.writing import batch_of

        if written:
            older = {snapshot.id_of(row): row for row in snapshot.find([one.paper.id for one in written])}
            # tantivy indexes the papers in a thread of its own, while their records are compressed and synced.
            with self._words.committing(enumerate((one.paper for one in written), snapshot.lengths.rows), older):
                batch = batch_of(written, older, snapshot, self.schema, self._files)
                self._files.append(snapshot.opstamp, snapshot.lengths, batch)
            self._seen = None
