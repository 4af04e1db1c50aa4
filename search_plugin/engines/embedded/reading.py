"""What can be read of one generation of an index; every read sees one commit: the last one at its start."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from search_plugin.contract.engine import Document
from search_plugin.contract.legs import Facets
from search_plugin.engines.embedded import suggesting
from search_plugin.engines.embedded.errors import explained, told
from search_plugin.engines.embedded.facets import column_paths, count_facets, counted, spelled
from search_plugin.engines.embedded.files import Files, folder_bytes
from search_plugin.engines.embedded.legs import run_legs
from search_plugin.engines.embedded.listing import listing
from search_plugin.engines.embedded.queries import named, rows_of
from search_plugin.engines.embedded.records import Stored
from search_plugin.engines.embedded.snapshot import Snapshot
from search_plugin.engines.embedded.word_files import META
from search_plugin.engines.embedded.words import open_words

if TYPE_CHECKING:
    import numpy as np

    from corpora.custom import FieldValue
    from corpora.paper import Paper
    from search_plugin.contract.legs import Listing, Scored
    from search_plugin.contract.ordering import Sort
    from search_plugin.contract.plan import Counting, Plan
    from search_plugin.contract.schema import IndexSchema
    from search_plugin.contract.tree import Filter

WORDS_FOLDER = "words"


def _cores() -> int:
    """Return how many cores this process may use, which can be fewer than the machine has."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def files_of(folder: Path, schema: IndexSchema) -> Files:
    """Return the files of a generation."""
    return Files(folder, {vector.name: vector.dimension for vector in schema.vectors})


class EmbeddedReader:
    """The reading half of `Index`. Threads may share it.

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
            self._files = files_of(folder, schema)
            self._words = open_words(folder / WORDS_FOLDER, schema)
        self._lock = threading.Lock()
        # More threads than cores would take the interpreter's lock from each other at every call of a library.
        self._turns = threading.BoundedSemaphore(_cores())
        self._seen: tuple[object, Snapshot] | None = None

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
        rows, _ = rows_of(snapshot.searcher, named(self._words, ids, identifiers), len(snapshot.rows))
        papers = [snapshot.stored(row).paper for row in rows]
        return {paper.id: paper for paper in papers}

    @told
    def spelled(self, patterns: Mapping[str, Sequence[str]]) -> Mapping[str, Sequence[str]]:
        """Return the values of keyword fields that regular expressions match; see `Index`."""
        return spelled(self._snapshot().searcher, column_paths(patterns), patterns)

    @told
    def word_counts(self, words: Sequence[str]) -> Mapping[str, int]:
        """Return how many papers hold each of some words in title or abstract, compared by stem."""
        snapshot = self._snapshot()
        return snapshot.counts.look_up(words, partial(suggesting.word_counts, snapshot.searcher, self._words))

    @told
    def resembling(self, terms: Sequence[str], distance: int, size: int) -> Sequence[Paper]:
        """Return papers whose title or abstract holds a term like one of some terms; see `Index`."""
        snapshot = self._snapshot()
        rows, _ = rows_of(snapshot.searcher, suggesting.resembling(self._words, terms, distance), size)
        return [snapshot.stored(row).paper for row in rows]

    @told
    def remembered(self, key: str, find: Callable[[], str]) -> str:
        """Return what `find` returned for the same key in the same commit, or call it."""
        return self._snapshot().answers.look_up([key], lambda _: {key: find()})[key]

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
        wanted = {name: self.schema.leg(name) for name in fields}
        return {
            stored.paper.id: Document(
                stored.paper,
                stored.content_hash,
                {name: snapshot.vectors_of(row, field) for name, field in wanted.items()},
            )
            for stored, row in rows
        }

    @told
    def vectors(self, ids: Sequence[str], field: str) -> Mapping[str, np.ndarray]:
        """Return float32 (dimension,) vectors of a format, or (passages, dimension), of the ids that exist."""
        snapshot = self._seen_last()
        wanted = self.schema.leg(field)
        return {snapshot.id_of(row): snapshot.vectors_of(row, wanted) for row in snapshot.find(ids)}

    @told
    def count(self, field: str | None = None) -> int:
        """Return how many papers the index holds, or how many of them have a vector of a format."""
        snapshot = self._snapshot()
        if field is None:
            return int(snapshot.live.sum())
        return int((snapshot.live & (snapshot.rows[f"{self.schema.leg(field).name}.count"] > 0)).sum())

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
        with self._turns:
            return run_legs(self._snapshot(), self._words, self.schema, plan)

    @told
    def listed(self, where: Filter | None, order: Sort, size: int) -> Listing:
        """Return the first papers of those that match a filter, in an order."""
        return listing(self._snapshot(), where, order, size)

    @told
    def fetch(self, ids: Sequence[str], counting: Counting | None = None) -> tuple[Mapping[str, Paper], Facets | None]:
        """Return the papers that exist, and the requested facet counts."""
        with self._turns:
            facets = count_facets(self._words, self._seen_last().searcher, counting) if counting else None
            return self.papers(ids), facets

    def _seen_last(self) -> Snapshot:
        """Return the snapshot of the last search, so that a page shows one state."""
        seen = self._seen
        return seen[1] if seen else self._snapshot()

    def _snapshot(self) -> Snapshot:
        """Return a snapshot of the last commit, of any writer."""
        status = (self.folder / WORDS_FOLDER / META).stat()
        mark = status.st_ino, status.st_mtime_ns
        with self._lock:
            if self._seen is None or self._seen[0] != mark:
                self._seen = mark, Snapshot(self._files, self._words)
            return self._seen[1]

    def _stored(self, ids: Sequence[str]) -> list[Stored]:
        snapshot = self._snapshot()
        return [snapshot.stored(row) for row in snapshot.find(ids)]
