"""The file of records that could not be indexed, each with its line and the reason."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import BinaryIO

import orjson

from corpora.paper import Rejected
from corpora.writing import WRITABLE_DATA, explaining


class DeadLetter:
    """Writes rejected records as JSON lines. The file is created at the first one, and replaces that of the last run.

    Args:
        path: The file.

    Raises:
        UnavailableError: If it can't be written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.count = 0
        self._file: BinaryIO | None = None
        self._explaining = partial(explaining, f"The list of rejected records {path}", WRITABLE_DATA)
        with self._explaining():
            path.unlink(missing_ok=True)

    def add(self, rejected: Rejected) -> None:
        """Write one record."""
        with self._explaining():
            if self._file is None:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                self._file = self.path.open("wb")
            self._file.write(orjson.dumps(rejected, option=orjson.OPT_APPEND_NEWLINE))
        self.count += 1

    def close(self) -> None:
        """Finish the file."""
        if self._file is not None:
            self._file.close()
