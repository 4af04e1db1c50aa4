"""The first pass over a corpus: counts its papers and finds those to write.

A corpus is read twice, since reading is cheap compared with encoding. The survey finds duplicates (the last one wins)
and compares every paper's hash with the index's. The number of papers to encode is therefore known before a model is
loaded. It keeps its notes in a temporary SQLite file: memory does not grow with the corpus.
"""

from __future__ import annotations

import json
import os
import sqlite3
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from itertools import groupby, islice
from pathlib import Path
from typing import cast

from corpora.custom import FieldValue
from corpora.errors import UnavailableError
from corpora.paper import Accepted, Deleted, Paper, Record, Rejected
from corpora.progress import Progress
from corpora.writing import WRITABLE_DATA, explaining
from search_plugin.contract.schema import PUBLICATION

_CHUNK = 1_000
_LONGEST_PATH = 500
"""Bytes of a path that SQLite opens; it adds a few for files beside it."""

_MOST_CHARACTERS = 2_500
"""Of 512 tokens in English."""
_UPDATED_AT_ONCE = 50_000


class Survey:
    """Notes on the accepted papers of a corpus, by ordinal: the position among the accepted, from 0.

    A paper's `work` is new, updated, unchanged, touched (its content is unchanged, but the index does not have it from
    this corpus yet, or with other values of the custom fields), deleted (by a record of the corpus) or refused (by the
    engine).

    Args:
        connection: Connection to an empty database.
        origin: The corpus's name in the index, None if papers have their origins already.
        fields: Names of the fields that the corpus gives and that are no content: custom fields, `PUBLICATION`.
    """

    def __init__(self, connection: sqlite3.Connection, origin: str | None, fields: Sequence[str] = ()) -> None:
        self._connection = connection
        self._origin = origin
        self._fields = fields
        self.filled = {name: 0 for name in fields if name != PUBLICATION.name}
        self.revalued = 0
        connection.execute(
            "CREATE TABLE papers "
            "(id TEXT PRIMARY KEY, ordinal INTEGER, line INTEGER, hash TEXT, work TEXT, origins TEXT, extra TEXT, "
            "size INTEGER) "
            "WITHOUT ROWID"
        )
        # A record that can't be read in this run is still in the corpus.
        connection.execute("CREATE TABLE unreadable (id TEXT PRIMARY KEY) WITHOUT ROWID")
        self.accepted = self.deletions = 0

    def read(self, records: Iterable[Record], reject: Callable[[Rejected], None], progress: Progress) -> None:
        """Note every record of a corpus, and yield the rejected ones; the last record of an id counts."""
        iterator = iter(records)
        while chunk := list(islice(iterator, _CHUNK)):
            rejected = 0
            for kind, run in groupby(chunk, type):
                if kind is Accepted:
                    self._accept(cast("Iterator[Accepted]", run))
                    continue
                for record in run:
                    if isinstance(record, Rejected):
                        reject(record)
                        rejected += 1
                    self._note(record)
            progress.advance(len(chunk) - rejected, rejected)

    def _accept(self, records: Iterable[Accepted]) -> None:
        rows = []
        for i, record in enumerate(records):
            paper = record.paper
            extra = {name: value for name in self._fields if (value := paper.value(name)) is not None}
            for name in self.filled.keys() & extra.keys():
                self.filled[name] += 1
            noted = json.dumps(extra) if extra else None
            origins = json.dumps(paper.origins if self._origin is None else [self._origin])
            hash_, size = paper.content_hash(), size_of(paper)
            rows.append((paper.id, self.accepted + i, record.line, hash_, "new", origins, noted, size))
        self._connection.executemany("INSERT OR REPLACE INTO papers VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows)
        self.accepted += len(rows)

    def _note(self, record: Record) -> None:
        if isinstance(record, Rejected):
            # It overrides an earlier deletion of the paper: the corpus has it.
            self._connection.execute("DELETE FROM papers WHERE id = ? AND work = 'deleted'", [record.id])
            self._connection.execute("INSERT OR IGNORE INTO unreadable VALUES (?)", [record.id])
        elif isinstance(record, Deleted):
            row = (record.id, record.line)
            self._connection.execute(
                "INSERT OR REPLACE INTO papers VALUES (?, NULL, ?, NULL, 'deleted', NULL, NULL, 0)", row
            )
            self.deletions += 1

    def compare(
        self,
        hashes: Callable[[Sequence[str]], Mapping[str, str]],
        values: Callable[[Sequence[str], Sequence[str]], Mapping[str, Mapping[str, FieldValue]]],
    ) -> None:
        """Mark each paper as new, updated, unchanged or touched, by the index's content hashes and values of fields."""
        page = "SELECT id, hash, origins, extra FROM papers WHERE id > ? AND hash IS NOT NULL ORDER BY id LIMIT ?"
        last = ""
        while rows := self._connection.execute(page, [last, _CHUNK]).fetchall():
            there = hashes([id_ for id_, *_ in rows])
            held = values([id_ for id_, *_ in rows if id_ in there], ["origins", *self._fields])
            known = []
            for id_, hash_, noted, extra in rows:
                if id_ in there:
                    origins = set(cast("tuple[str, ...]", held[id_].get("origins", ())))
                    everyones = origins.union(json.loads(noted))
                    changes = self._changes(held[id_], json.loads(extra or "{}"))
                    same = "unchanged" if everyones == origins and not changes else "touched"
                    self.revalued += there[id_] == hash_ and bool(changes)
                    work = same if there[id_] == hash_ else "updated"
                    known.append((work, json.dumps(sorted(everyones)), json.dumps(changes), id_))
            self._connection.executemany("UPDATE papers SET work = ?, origins = ?, extra = ? WHERE id = ?", known)
            last = rows[-1][0]

    def _changes(self, held: Mapping[str, FieldValue], given: Mapping[str, object]) -> dict[str, object]:
        """Return the custom values that differ from the index's, None for a value to remove."""
        there = {name: list(value) if isinstance(value, tuple) else value for name, value in held.items()}
        return {name: given.get(name) for name in self._fields if given.get(name) != there.get(name)}

    def counts(self) -> dict[str, int]:
        """Return the numbers of new, updated and unchanged papers (touched or not), and of duplicate records."""
        counts = dict(self._connection.execute("SELECT work, count(*) FROM papers GROUP BY work"))
        papers = sum(counts.values())
        counts["unchanged"] = counts.get("unchanged", 0) + counts.pop("touched", 0)
        return {"new": 0, "updated": 0, **counts, "duplicates": self.accepted + self.deletions - papers}

    def size(self) -> int:
        """Return the characters of new and updated papers, as `size_of` counts them."""
        doing = "SELECT sum(size) FROM papers WHERE work IN ('new', 'updated')"
        return int(self._connection.execute(doing).fetchone()[0] or 0)

    def work(self) -> Iterator[tuple[int, tuple[str, ...]]]:
        """Yield the ordinals of new and updated papers, in order, each with the origins to write."""
        doing = "SELECT ordinal, origins FROM papers WHERE work IN ('new', 'updated') ORDER BY ordinal"
        return ((ordinal, tuple(json.loads(origins))) for ordinal, origins in self._connection.execute(doing))

    def hashes(self) -> Iterator[tuple[int, str]]:
        """Yield the ordinal and the content hash of each paper that counts, in order."""
        return iter(self._connection.execute("SELECT ordinal, hash FROM papers WHERE hash NOT NULL ORDER BY ordinal"))

    def of_hash(self, hash_: str) -> tuple[str, int]:
        """Return the id and the line of the paper with a content hash."""
        id_, line = self._connection.execute("SELECT id, line FROM papers WHERE hash = ?", [hash_]).fetchone()
        return str(id_), int(line)

    def updates(self) -> Iterator[dict[str, dict[str, FieldValue | None]]]:
        """Yield in batches the values to write, by id and field, of papers whose content is unchanged."""
        rows = self._connection.execute("SELECT id, origins, extra FROM papers WHERE work = 'touched'")
        while chunk := rows.fetchmany(_UPDATED_AT_ONCE):
            yield {id_: {"origins": json.loads(origins), **json.loads(extra)} for id_, origins, extra in chunk}

    def deleted(self) -> Iterator[list[str]]:
        """Yield in batches the ids of papers that the corpus marks as deleted."""
        rows = self._connection.execute("SELECT id FROM papers WHERE work = 'deleted'")
        while chunk := rows.fetchmany(_CHUNK):
            yield [id_ for (id_,) in chunk]

    def gone(self, ids: Iterable[str]) -> Iterator[list[str]]:
        """Yield in batches the ids that the corpus does not hold."""
        iterator = iter(ids)
        while chunk := list(islice(iterator, _CHUNK)):
            marks = ", ".join("?" * len(chunk))
            held = f"SELECT id FROM papers WHERE id IN ({marks}) UNION SELECT id FROM unreadable WHERE id IN ({marks})"  # noqa: S608 - the marks are question marks
            there = {id_ for (id_,) in self._connection.execute(held, [*chunk, *chunk])}
            if missing := [id_ for id_ in chunk if id_ not in there]:
                yield missing

    def refuse(self, id_: str) -> int:
        """Note that the engine would not take a paper, and return the line it was read from."""
        self._connection.execute("UPDATE papers SET work = 'refused' WHERE id = ?", [id_])
        return int(self._connection.execute("SELECT line FROM papers WHERE id = ?", [id_]).fetchone()[0])


def size_of(paper: Paper) -> int:
    """Return the characters of a paper's text up to where most models cut it: about what encoding it costs."""
    return min(len(paper.title) + len(paper.abstract), _MOST_CHARACTERS)


@contextmanager
def open_survey(folder: Path, origin: str | None, fields: Sequence[str] = ()) -> Iterator[Survey]:
    """Provide an empty survey whose notes, about 180 bytes per paper, are kept in a folder and deleted afterwards.

    It may be used by one thread at a time. Raises `UnavailableError` if the notes can't be kept there.
    """
    with explaining(f"The folder {folder}", WRITABLE_DATA):
        folder.mkdir(parents=True, exist_ok=True)
        scratch = tempfile.TemporaryDirectory(dir=folder, prefix="survey-")
    with scratch as inside:
        place = Path(inside) / "papers.sqlite"
        if len(os.fsencode(place)) > _LONGEST_PATH:
            raise UnavailableError(f"The path of {folder} is too long for SQLite", "set SES_DATA_DIR to a shorter one")
        try:
            with closing(_connect(place)) as connection:
                yield Survey(connection, origin, fields)
        except sqlite3.Error as error:
            raise UnavailableError(
                f"The survey's notes in {folder} can't be kept ({error}); "
                "free some disk or set SES_DATA_DIR to another."
            ) from error


def _connect(path: Path) -> sqlite3.Connection:
    # The reader's thread asks for the work while the main thread notes what was refused; SQLite serializes them.
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    # The notes are worthless after a crash, so nothing is spent on making them durable.
    connection.executescript("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA temp_store = FILE;")
    return connection
