"""When the papers that are served have changed: the time that feeds show, the same in all workers and at each start."""

from __future__ import annotations

import time
from contextlib import suppress
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path
from threading import Lock

import orjson

from corpora.documents import read_json
from corpora.writing import replacing

_MOST = 1_000
"""Times that are held in memory."""


class Changes:
    """Notes when each revision was seen first, in a folder that several processes may share.

    Args:
        folder: Where the times are kept; where it can't be written, each process has its own.
    """

    def __init__(self, folder: Path) -> None:
        self._folder, self._lock = folder, Lock()
        self._seen: dict[str, tuple[str, float]] = {}

    def changed_at(self, name: str, revision: str, first: float) -> datetime:
        """Return when something came to its revision, in UTC and whole seconds.

        Its name is the same in all processes, and the revision changes whenever it changes. `first` is the time of the
        first revision that is seen; 0 if that is not known.
        """
        with self._lock:
            seen = self._seen.get(name)
            if seen is None or seen[0] != revision:
                if len(self._seen) >= _MOST:
                    self._seen.clear()
                seen = self._seen[name] = self._noted(name, revision, first)
        return datetime.fromtimestamp(int(seen[1]), UTC)

    def _noted(self, name: str, revision: str, first: float) -> tuple[str, float]:
        path = self._folder / f"{blake2b(name.encode(), digest_size=12).hexdigest()}.json"
        before = self._seen.get(name)
        with suppress(OSError, ValueError, TypeError, KeyError):
            kept = read_json(path)
            before = str(kept["revision"]), float(kept["seen"])
        if before and before[0] == revision:
            return before
        found = revision, first if first and not before else time.time()
        with suppress(OSError):
            self._folder.mkdir(parents=True, exist_ok=True)
            with replacing(path) as part:
                part.write_bytes(orjson.dumps({"revision": revision, "seen": found[1]}))
        return found
