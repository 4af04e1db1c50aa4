"""Reading the files of a folder one after another."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from corpora.paper import Record, Rejected

if TYPE_CHECKING:
    from pathlib import Path


def read_each(path: Path, files: Iterable[Path], read: Callable[[Path], Iterator[Record]]) -> Iterator[Record]:
    """Yield the records of files; in a folder, the reason of a rejection names the file.

    Args:
        path: What the user named.
        files: That file, or files in that folder.
        read: Reads one of them.

    Yields:
        Records in order.
    """
    for file in files:
        for record in read(file):
            if isinstance(record, Rejected) and file != path:
                yield replace(record, reason=f"{file.relative_to(path)}: {record.reason}")
            else:
                yield record
