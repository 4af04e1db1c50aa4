"""One generation of an index in the embedded engine."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from corpora.errors import InputError
from search_plugin.contract.engine import Document, Refused
from search_plugin.contract.schema import Bm25
from search_plugin.contract.values import checked
from search_plugin.engines.embedded import derived
from search_plugin.engines.embedded.appending import Written, batch_of, check_dimensions, check_numbers
from search_plugin.engines.embedded.errors import told
from search_plugin.engines.embedded.facts import read_facts, write_facts
from search_plugin.engines.embedded.files import PAPERS, Appended
from search_plugin.engines.embedded.finishing import cover_rows, cover_vectors
from search_plugin.engines.embedded.reading import WORDS_FOLDER, EmbeddedReader, files_of
from search_plugin.engines.embedded.records import Stored, encoded, with_values
from search_plugin.engines.embedded.snapshot import Snapshot
from search_plugin.engines.embedded.words import create_words, open_words

if TYPE_CHECKING:
    from corpora.custom import FieldValue
    from search_plugin.contract.fields import Field
    from search_plugin.contract.legs import Ranking
    from search_plugin.contract.plan import Plan
    from search_plugin.contract.schema import IndexSchema


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


class EmbeddedIndex(EmbeddedReader):
    """See `Index`: the writing half, and what the engine says of itself. One process writes at a time."""

    @told
    def upsert(self, documents: Sequence[Document]) -> Sequence[Refused]:
        """Write documents in one commit: after a crash, either all of them exist or none."""
        refused: list[Refused] = []
        latest: dict[str, Written] = {}
        for document in documents:
            check_dimensions(document, self.schema)
            try:
                paper = encoded(Stored(document.paper, document.content_hash))
                check_numbers(document, self.schema)
                latest[document.paper.id] = Written(document.paper, paper, document.vectors)
            except ValueError as error:
                refused.append(Refused(document.paper.id, f"The embedded engine would not take it: {error}"))
        self._append(list(latest.values()), self._snapshot())
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
            with self._words.committing([], [snapshot.id_of(row) for row in gone]):
                self._files.append(snapshot.opstamp, snapshot.lengths, Appended(rows, b"", {}))
            self._seen = None

    @told
    def update(self, values: Mapping[str, Mapping[str, FieldValue | None]]) -> Sequence[str]:
        """Write some fields of existing papers, in one commit; returns the ids that do not exist."""
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

    @told
    def add_fields(self, fields: Sequence[Field]) -> None:
        """Add fields to the schema; a missing value takes no space."""
        schema = self.schema.with_fields(fields)
        if schema != self.schema:
            write_facts(self.folder, replace(read_facts(self.folder), schema=schema))
            self.schema = schema
            self._words = open_words(self.folder / WORDS_FOLDER, schema)
            self._seen = None

    @told
    def finish(self) -> None:
        """Update columns, titles and vector indexes if there are many new rows."""
        snapshot = self._snapshot()
        cover_rows(self._files, snapshot, self._words.kinds)
        for field in self.schema.vectors:
            cover_vectors(self._files, snapshot, field)
        self._seen = None

    @contextmanager
    def scored_by(self, bm25: Bm25) -> Iterator[None]:
        """See `Index`: tantivy's constants are fixed, so only those are accepted."""
        check_bm25(bm25)
        yield

    def rank(self, plan: Plan, fusion: str, weights: Mapping[str, float]) -> Ranking | None:  # noqa: ARG002 - ses does
        """Raise `InputError`: the legs are so fast that joining them here would gain nothing."""
        raise InputError("The embedded engine can't join the legs of a search", "let ses join them")

    @told
    def damaged(self) -> list[str]:
        """Return what differs from what was written, without derived files; reads all of it."""
        snapshot = self._snapshot()
        appended = self._files.damaged(snapshot.opstamp)
        words = [f"{WORDS_FOLDER}/{name}" for name in self._words.damaged()]
        return [*appended, *words, *(snapshot.damaged_records() if PAPERS in appended else [])]

    @told
    def damaged_derived(self) -> Mapping[Path, str]:
        """Return which derived folders are damaged, and why; reads all of them."""
        return derived.damaged(self.folder)

    @told
    def derive_again(self, folders: Iterable[Path]) -> None:
        """Delete derived folders, and make them again of papers and vectors."""
        for folder in folders:
            derived.remove(folder)
        self.finish()

    def _append(self, written: Sequence[Written], snapshot: Snapshot) -> None:
        if written:
            older = {snapshot.id_of(row): row for row in snapshot.find([one.paper.id for one in written])}
            # tantivy indexes the papers in a thread of its own, while their records are compressed and synced.
            with self._words.committing(enumerate((one.paper for one in written), snapshot.lengths.rows), older):
                batch = batch_of(written, older, snapshot, self.schema, self._files)
                self._files.append(snapshot.opstamp, snapshot.lengths, batch)
            self._seen = None
