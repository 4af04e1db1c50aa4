"""What can be done to any corpus while it is read."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

from corpora.paper import Accepted, Record


def first_accepted(records: Iterator[Record], limit: int | None) -> Iterator[Record]:
    """Yield records until so many papers have been accepted; all of them where there is no limit."""
    accepted = 0
    for record in records:
        yield record
        accepted += isinstance(record, Accepted)
        if accepted == limit:
            return


def source_of(corpus: str, path: Path, limit: int | None) -> str:
    """Return a text that changes when another corpus, path or limit is read, or the files of the path change."""
    files = sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path]
    marks = [f"{file}:{file.stat().st_size}:{file.stat().st_mtime_ns}" for file in files if file.exists()]
    digest = hashlib.blake2b("\n".join(marks).encode(errors="replace"), digest_size=8).hexdigest()
    return f"{corpus} {path} {limit or 'all'} {digest}"
