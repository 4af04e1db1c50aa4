"""Stores vectors by text and model, so that a model encodes no text twice."""

from __future__ import annotations

import hashlib
import logging
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path

from corpora.lazy import np

_LOOK_UP = 500  # keys a query, well under SQLite's limit on variables
_UNUSABLE = "can't be used", "free some disk, or set SES_CACHE_DIR to a folder that can be written"
_DAMAGED = "is damaged", "delete that file: it is only a cache"


def cache_key(text: str, fingerprint: str, runtime: str) -> bytes:
    """Return the content address of a text's vector, 16 bytes, given the model's fingerprint and what runs it."""
    return hashlib.blake2b(
        "\0".join((fingerprint, runtime, text)).encode(errors="surrogatepass"), digest_size=16
    ).digest()


class EmbeddingCache:
    """A SQLite file of vectors; several processes may share it, and a killed one leaves it whole.

    If it can't be used, a warning says why. From then on nothing is found in it, and nothing is kept.

    Args:
        path: The SQLite file, made if it is not there.

    Example:
        >>> import numpy as np
        >>> cache = EmbeddingCache(Path("cache.sqlite"))
        >>> cache.put({b"key": np.ones(2, np.float32)})
        >>> cache.get([b"key", b"another"])[b"key"].shape
        (2,)
    """

    def __init__(self, path: Path) -> None:
        self._path, self._usable = path, True
        self._run(_create)

    def get(self, keys: Sequence[bytes]) -> dict[bytes, np.ndarray]:
        """Return the stored vectors, float32 (dimension,), by key."""
        found: dict[bytes, np.ndarray] = {}

        def look_up(connection: sqlite3.Connection) -> None:
            for start in range(0, len(keys), _LOOK_UP):
                part = keys[start : start + _LOOK_UP]
                marks = ",".join("?" * len(part))
                rows = connection.execute(f"SELECT key, vector FROM vectors WHERE key IN ({marks})", part)  # noqa: S608 - marks are only question marks
                found.update((key, np.frombuffer(vector, dtype="<f4")) for key, vector in rows)

        self._run(look_up)
        return found

    def put(self, vectors: Mapping[bytes, np.ndarray]) -> None:
        """Store vectors, float32 (dimension,) by key: all of them, or none if the disk is full or the process dies."""
        rows = [(key, vector.astype("<f4").tobytes()) for key, vector in vectors.items()]
        self._run(lambda connection: connection.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?)", rows))

    def _run(self, work: Callable[[sqlite3.Connection], object]) -> None:
        """Run a transaction, unless the cache can't be used."""
        if not self._usable:
            return
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            # One connection per call, because the reader and encoder threads both use the cache.
            with closing(sqlite3.connect(self._path, timeout=60)) as connection, connection:
                connection.execute("PRAGMA synchronous = NORMAL")
                work(connection)
        except (OSError, sqlite3.Error) as error:
            self._usable = False
            damaged = isinstance(error, sqlite3.DatabaseError) and not isinstance(error, sqlite3.OperationalError)
            state, advice = _DAMAGED if damaged else _UNUSABLE
            message = (
                f"The embedding cache {self._path} {state} ({error}), so vectors are computed and not kept; {advice}."
            )
            logging.getLogger("ses").warning(message)


def _create(connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, vector BLOB NOT NULL) WITHOUT ROWID")
