"""The first pass over a corpus: what there is, and what of it is work.

A corpus is read twice, since reading is cheap beside encoding. The survey finds the duplicates (the last one wins),
compares every paper's hash with the index's, and so knows the exact number of papers to do before a model is loaded.
It keeps its notes in a temporary SQLite file: memory does not grow with the corpus.
"""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from itertools import islice
from pathlib import Path

from corpora.errors import UnavailableError
from corpora.paper import Accepted, Record, Rejected
from indexer.report import Progress

_CHUNK = 1_000


class Survey:
    """Notes on the accepted papers of a corpus, by ordinal: the position among the accepted, from 0."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        connection.execute(
            "CREATE TABLE papers "
            "(id TEXT PRIMARY KEY, ordinal INTEGER, line INTEGER, hash TEXT, work TEXT) WITHOUT ROWID"
        )
        # A record that can't be read this time is still in the corpus.
        connection.execute("CREATE TABLE unreadable (id TEXT PRIMARY KEY) WITHOUT ROWID")
        self.accepted = 0

    def read(self, records: Iterable[Record], reject: Callable[[Rejected], None], progress: Progress) -> None:
        """Note every paper of a corpus, a later one over an earlier one of the same id, and hand on the rejected."""
        insert = "INSERT OR REPLACE INTO papers VALUES (?, ?, ?, ?, 'new')"
        iterator = iter(records)
        while chunk := list(islice(iterator, _CHUNK)):
            accepted = [record for record in chunk if isinstance(record, Accepted)]
            rows = (
                (record.paper.id, self.accepted + i, record.line, record.paper.content_hash())
                for i, record in enumerate(accepted)
            )
            self._connection.executemany(insert, rows)
            for record in chunk:
                if isinstance(record, Rejected):
                    reject(record)
                    self._connection.execute("INSERT OR IGNORE INTO unreadable VALUES (?)", [record.id])
            self.accepted += len(accepted)
            progress.advance(len(accepted), len(chunk) - len(accepted))

    def compare(self, hashes: Callable[[Sequence[str]], Mapping[str, str]]) -> None:
        """Mark each paper as new, updated or unchanged, given a look-up of the index's content hashes by id."""
        page = "SELECT id, hash FROM papers WHERE id > ? ORDER BY id LIMIT ?"
        last = ""
        while rows := self._connection.execute(page, [last, _CHUNK]).fetchall():
            there = hashes([id_ for id_, _ in rows])
            known = [("unchanged" if there[id_] == hash_ else "updated", id_) for id_, hash_ in rows if id_ in there]
            self._connection.executemany("UPDATE papers SET work = ? WHERE id = ?", known)
            last = rows[-1][0]

    def counts(self) -> dict[str, int]:
        """Return how many papers are new, updated, unchanged, and records are duplicates."""
        counts = dict(self._connection.execute("SELECT work, count(*) FROM papers GROUP BY work"))
        papers = sum(counts.values())
        return {"new": 0, "updated": 0, "unchanged": 0, **counts, "duplicates": self.accepted - papers}

    def work(self) -> Iterator[int]:
        """Yield the ordinals of new and updated papers, in order."""
        rows = self._connection.execute("SELECT ordinal FROM papers WHERE work != 'unchanged' ORDER BY ordinal")
        return (ordinal for (ordinal,) in rows)

    def gone(self, ids: Iterable[str]) -> Iterator[list[str]]:
        """Yield, some at a time, those ids that the corpus does not hold."""
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


@contextmanager
def open_survey(folder: Path) -> Iterator[Survey]:
    """Give a survey whose notes lie in a folder and are gone afterwards.

    Args:
        folder: Where there is room for some 150 bytes a paper.

    Yields:
        An empty survey; it may be used by one thread at a time.

    Raises:
        UnavailableError: If the notes can't be kept there.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        scratch = tempfile.TemporaryDirectory(dir=folder, prefix="survey-")
    except OSError as error:
        raise UnavailableError(
            f"The folder {folder} can't be written ({error.strerror}); make it writable or set SES_DATA_DIR to another."
        ) from error
    with scratch as inside, closing(_connect(Path(inside) / "papers.sqlite")) as connection:
        try:
            yield Survey(connection)
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
