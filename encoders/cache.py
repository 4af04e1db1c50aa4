"""Stores vectors by text and model, so that a model encodes no text twice."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from corpora.errors import UnavailableError

if TYPE_CHECKING:
    import numpy as np

_LOOK_UP = 500  # keys a query, well under SQLite's limit on variables


def cache_key(text: str, fingerprint: str, runtime: str) -> bytes:
    """Return the content address of a vector.

    Args:
        text: What the model reads, control code included.
        fingerprint: The model's fingerprint.
        runtime: Runtime and precision, such as `onnx-int8`.

    Returns:
        16 bytes.
    """
    return hashlib.blake2b(
        "\0".join((fingerprint, runtime, text)).encode(errors="surrogatepass"), digest_size=16
    ).digest()


class EmbeddingCache:
    """A SQLite file of vectors; several processes may share it, and a killed one leaves it whole."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UnavailableError(
                f"The embedding cache {path} can't be made ({error}); "
                "set SES_CACHE_DIR to a folder that can be written."
            ) from error
        with self._transaction() as connection:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute(
                "CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, vector BLOB NOT NULL) WITHOUT ROWID"
            )

    def get(self, keys: Sequence[bytes]) -> dict[bytes, np.ndarray]:
        """Return the stored vectors, float32 (dimension,), by key; `UnavailableError` if it is damaged."""
        import numpy as np

        found: dict[bytes, np.ndarray] = {}
        with self._transaction() as connection:
            for start in range(0, len(keys), _LOOK_UP):
                part = keys[start : start + _LOOK_UP]
                marks = ",".join("?" * len(part))
                rows = connection.execute(f"SELECT key, vector FROM vectors WHERE key IN ({marks})", part)  # noqa: S608 - marks are only question marks
                found.update((key, np.frombuffer(vector, dtype="<f4")) for key, vector in rows)
        return found

    def put(self, vectors: Mapping[bytes, np.ndarray]) -> None:
        """Store vectors, all of them or, if the process dies, none.

        Args:
            vectors: float32 (dimension,) by key.

        Raises:
            UnavailableError: If the disk is full or the file can't be written.
        """
        rows = [(key, vector.astype("<f4").tobytes()) for key, vector in vectors.items()]
        with self._transaction() as connection:
            connection.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?)", rows)

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        try:
            # One connection per call, because the reader and encoder threads both use the cache.
            with closing(sqlite3.connect(self._path, timeout=60)) as connection, connection:
                connection.execute("PRAGMA synchronous = NORMAL")
                yield connection
        except sqlite3.OperationalError as error:
            raise UnavailableError(
                f"The embedding cache {self._path} can't be used ({error}); "
                "free some disk, or set SES_CACHE_DIR to a folder that can be written."
            ) from error
        except sqlite3.DatabaseError as error:
            raise UnavailableError(
                f"The embedding cache {self._path} is damaged ({error}); delete that file: it is only a cache."
            ) from error
