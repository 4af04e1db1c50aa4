"""The file of records that could not be indexed, each with its line and the reason."""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO

import orjson

from corpora.errors import UnavailableError
from corpora.paper import Rejected


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
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise self._unwritable(error) from error

    def add(self, rejected: Rejected) -> None:
        """Write one record."""
        try:
            if self._file is None:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                self._file = self.path.open("wb")
            self._file.write(orjson.dumps(rejected, option=orjson.OPT_APPEND_NEWLINE))
        except OSError as error:
            raise self._unwritable(error) from error
        self.count += 1

    def close(self) -> None:
        """Finish the file."""
        if self._file is not None:
            self._file.close()

    def _unwritable(self, error: OSError) -> UnavailableError:
        return UnavailableError(
            f"The list of rejected records {self.path} can't be written ({error.strerror}); "
            "free some disk or set SES_DATA_DIR to a folder that can be written."
        )
