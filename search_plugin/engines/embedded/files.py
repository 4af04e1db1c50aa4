"""The append-only files of a generation: rows, papers, vectors, and the log of commits.

A row is one version of a paper, and never changes. A paper that is written again gets a new row, which names the row
that it replaces; a deletion is a row without a paper. A row holds the positions of its paper's record and vectors.

tantivy's commit is the only switch. Before it, everything is appended and synced, then a line of the log that says how
long each file will be. The line is valid once tantivy's opstamp, a number that grows with each commit, is larger than
the opstamp at which the line was written. Data that a crash leaves without a valid line is never read, and the next
write truncates it.

All files of an index have checksums (CRC-32). A record is compared with its checksum whenever it is read. All other
files are compared by a diagnosis, and, when they are opened, as far as that is cheap: the smallest first, until
`AT_ONCE` bytes are read; of a long file, what was appended last.

Only regular files are read: a pipe would be waited for, and a device such as /dev/zero has no end.
"""

from __future__ import annotations

import math
import os
import shutil
import stat
import zlib
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from corpora.documents import read_within
from corpora.lazy import np
from corpora.writing import sync

AT_ONCE = 32 << 20
"""Bytes that are compared when files are opened; about 0.02 seconds."""

NEWEST = 4 << 20
"""Bytes, appended last, that are compared of a longer file."""

_LONGEST_LOG = 256 << 20
"""Bytes: more than a million commits."""

_BLOCK = 1 << 20


def opened(path: Path) -> IO[bytes]:
    """Open a regular file to read it; raises `ValueError` if it is none, and `OSError`."""
    file = open(path, "rb", opener=_without_waiting)  # noqa: SIM115 - paths take no opener; the caller closes it
    try:
        _check_regular(path, os.fstat(file.fileno()))
    except ValueError:
        file.close()
        raise
    return file


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))  # Windows has no such pipes


def _check_regular(path: Path, status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise ValueError(f"{path.name} is not a regular file")


def size_of(path: Path) -> int:
    """Return the bytes of a regular file; errors as of `opened`."""
    status = path.stat()
    _check_regular(path, status)
    return status.st_size


def read_small(path: Path) -> bytes:
    """Return what a regular file of at most 16 MiB holds; errors as of `opened`, and `ValueError` if it is longer."""
    with opened(path) as file:
        return read_within(file)


def copy_regular(source: str, target: str) -> None:
    """Copy a regular file with its times; errors as of `opened`."""
    size_of(Path(source))
    shutil.copy2(source, target)


def checksum(path: Path, size: int, start: int = 0) -> int:
    """Return the checksum of some bytes of a file from a place on, or of all that follow if it has fewer."""
    found = 0
    with opened(path) as file:
        file.seek(start)
        while size > 0 and (block := file.read(min(_BLOCK, size))):
            found, size = zlib.crc32(block, found), size - len(block)
    return found


def cheap(sizes: Iterable[tuple[str, int]]) -> list[str]:
    """Return the names of the smallest files, which have at most `AT_ONCE` bytes together."""
    names, left = [], AT_ONCE
    for name, size in sorted(sizes, key=lambda pair: pair[1]):
        left -= size
        if left < 0:
            break
        names.append(name)
    return names


ROWS, PAPERS, LOG = "rows", "papers", "commits"
NOTHING = -1
"""In `replaces`: the paper is new."""


@dataclass(frozen=True, slots=True)
class Lengths:
    """How much of each file is committed: versions of papers, bytes of their records, and vectors by field."""

    rows: int
    papers: int
    vectors: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Appended:
    """What one commit appends.

    Attributes:
        rows: Rows, an array of `Files.row_type`.
        papers: Their records, one after another.
        vectors: Stored vectors by field, as `vectors.as_stored` returns them.
    """

    rows: np.ndarray
    papers: bytes
    vectors: Mapping[str, np.ndarray]


class Files:
    """The appended files of one generation, in a folder; `vectors` are the types of a stored vector, by field."""

    def __init__(self, folder: Path, vectors: Mapping[str, np.dtype[Any]]) -> None:
        self.folder = folder
        self.fields = vectors
        places = [part for name in vectors for part in ((f"{name}.start", "<u4"), (f"{name}.count", "<u4"))]
        self.row_type = np.dtype([("offset", "<u8"), ("size", "<u4"), ("replaces", "<i4"), *places])
        self._names = (ROWS, PAPERS, *map(vectors_file, vectors))
        counts = [(part, "<u8") for name in self._names for part in (name, _checksum(name))]
        self._line = np.dtype([("opstamp", "<u8"), *counts])
        self._compared: dict[str, int] = {}

    def create(self) -> None:
        """Make the files, empty."""
        for name in (*self._names, LOG):
            (self.folder / name).touch()
        sync(self.folder)

    def committed(self, opstamp: int, noted: int | None = None) -> Lengths:
        """Return how long the files are at a commit of tantivy's; `noted` is the opstamp at which its files were noted.

        Raises `ValueError` if the log can't be of the same index at that commit. A write that is interrupted leaves at
        most one line that is not valid yet, and a commit whose files are not noted yet has a line.
        """
        every = self._log()
        valid = _valid(every, opstamp)
        if (every["opstamp"][len(valid) :] >= opstamp).sum() > 1:
            raise ValueError(f"{LOG} has later commits than the words")
        if noted is not None and noted < opstamp and not (valid["opstamp"] >= noted).any():
            raise ValueError(f"{LOG} has no commit of these words")
        return self._lengths(valid)

    def append(self, opstamp: int, held: Lengths, batch: Appended) -> None:
        """Append and sync the data of the next commit to files that have the lengths `held` at the last one."""
        line = np.zeros(1, self._line)
        line["opstamp"] = opstamp
        parts = {ROWS: batch.rows.tobytes(), PAPERS: batch.papers}
        parts |= {vectors_file(name): vectors.tobytes() for name, vectors in batch.vectors.items()}
        for name, (at, width) in self._places(held).items():
            part = parts.get(name, b"")
            if part:
                _put(self.folder / name, at * width, part)
            line[name], line[_checksum(name)] = at + len(part) // width, zlib.crc32(part)
        _put(self.folder / LOG, self._lines(opstamp).nbytes, line.tobytes())

    def check(self, name: str, opstamp: int, content: np.ndarray) -> None:
        """Compare what was appended to a file since the last check with its checksums: all, or what was appended last.

        `content` is the file's committed part. Raises `ValueError` if it has changed.
        """
        lines, first = self._lines(opstamp), self._compared.get(name, 0)
        # Not as an array: a number that is damaged could overflow.
        ends = [0, *(count * content[:1].nbytes for count in lines[name].tolist())]
        most = AT_ONCE if ends[-1] - ends[first] <= AT_ONCE and name != PAPERS else NEWEST
        held = content.reshape(-1).view(np.uint8)
        for at in range(len(lines) - 1, first - 1, -1):
            if ends[-1] - ends[at] > most:
                break
            if zlib.crc32(held[ends[at] : ends[at + 1]].data) != int(lines[_checksum(name)][at]):
                raise ValueError(f"{name} was changed after it was written")
        self._compared[name] = len(lines)

    def damaged(self, opstamp: int) -> list[str]:
        """Return the names of the files that differ from what was committed; reads all of them."""
        lines = self._lines(opstamp)
        wrong: dict[str, None] = {}
        for number, line in enumerate(lines):
            for name, (at, width) in self._places(self._lengths(lines[:number])).items():
                size = (int(line[name]) - at) * width
                if checksum(self.folder / name, size, at * width) != line[_checksum(name)]:
                    wrong[name] = None
        return list(wrong)

    def rows(self, lengths: Lengths) -> np.ndarray:
        """Map the committed rows."""
        return mapped(self.folder / ROWS, self.row_type, lengths.rows)

    def papers(self, lengths: Lengths) -> np.ndarray:
        """Map the committed records as bytes."""
        return mapped(self.folder / PAPERS, "u1", lengths.papers)

    def vectors(self, name: str, lengths: Lengths) -> np.ndarray:
        """Map the committed vectors of a field, as they are stored."""
        return mapped(self.folder / vectors_file(name), self.fields[name], lengths.vectors[name])

    def _lengths(self, lines: np.ndarray) -> Lengths:
        if not len(lines):
            return Lengths(0, 0, dict.fromkeys(self.fields, 0))
        vectors = {name: int(lines[-1][vectors_file(name)]) for name in self.fields}
        return Lengths(int(lines[-1][ROWS]), int(lines[-1][PAPERS]), vectors)

    def _places(self, held: Lengths) -> dict[str, tuple[int, int]]:
        """Return for each file its number of units, and the bytes per unit."""
        vectors = {vectors_file(name): (held.vectors[name], kind.itemsize) for name, kind in self.fields.items()}
        return {ROWS: (held.rows, self.row_type.itemsize), PAPERS: (held.papers, 1), **vectors}

    def _lines(self, opstamp: int) -> np.ndarray:
        """Return the valid lines of the log."""
        return _valid(self._log(), opstamp)

    def _log(self) -> np.ndarray:
        """Return all lines of the log."""
        with opened(self.folder / LOG) as file:
            content = read_within(file, _LONGEST_LOG)
        return np.frombuffer(content, self._line, len(content) // self._line.itemsize)


def _valid(lines: np.ndarray, opstamp: int) -> np.ndarray:
    """Return the lines of a log that are valid at a commit; what a power failure leaves of a line may be zeros."""
    stamps = lines["opstamp"]
    wrong = stamps >= opstamp
    wrong[1:] |= stamps[1:] <= stamps[:-1]
    return lines[: np.argmax(wrong)] if wrong.any() else lines


def vectors_file(name: str) -> str:
    """Return the file of a vector field."""
    return f"{name}.vectors"


def folder_bytes(folder: Path) -> int:
    """Return the bytes of all files below a folder; a file that is deleted meanwhile counts as 0."""
    total = 0
    for path in folder.rglob("*"):
        with suppress(FileNotFoundError):
            total += path.lstat().st_size if path.is_file() else 0
    return total


def _checksum(name: str) -> str:
    return f"{name} CRC-32"


def _put(path: Path, at: int, part: bytes) -> None:
    """Truncate a file at a position, append to it, and sync."""
    with path.open("r+b") as file:
        if file.seek(0, os.SEEK_END) < at:
            raise ValueError(f"{path.name} has lost its end")
        file.truncate(at)
        file.seek(at)
        file.write(part)
        file.flush()
        os.fsync(file.fileno())


def mapped(path: Path, kind: Any, *shape: int) -> np.ndarray:
    """Map a file as an array; raises `ValueError` if the file is shorter."""
    if not shape[0]:
        return np.empty(shape, kind)
    with opened(path) as file:
        if os.fstat(file.fileno()).st_size < math.prod(shape) * np.dtype(kind).itemsize:
            raise ValueError(f"{path.name} has lost its end")
        # A plain array over the mapping: every access to a memmap makes an object of that class, which is slow.
        return np.memmap(file, kind, "r", shape=shape).view(np.ndarray)
