"""Operations on any corpus while it is read: limits, several files, the name and content of its source."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path

from corpora.errors import InputError
from corpora.opening import COMPRESSED_SUFFIXES
from corpora.paper import Accepted, Record, Rejected
from corpora.registry import Corpus

LONGEST_ORIGIN = 200
"""Most characters of the name of an origin."""

MOST_FILES = 20_000
"""Most files of a corpus; all of PubMed are about 2,000."""


def first_accepted(records: Iterator[Record], limit: int | None) -> Iterator[Record]:
    """Yield records until `limit` papers have been accepted; all of them if there is no limit."""
    accepted = 0
    for record in records:
        yield record
        accepted += isinstance(record, Accepted)
        if accepted == limit:
            return


def source_of(corpus: str, path: Path, limit: int | None) -> str:
    """Return a text that changes when another corpus, path or limit is read, or the files of the path change."""
    files = _files(path) if path.is_dir() else [path]
    marks = [f"{file}:{file.stat().st_size}:{file.stat().st_mtime_ns}" for file in files if file.exists()]
    # A digest, since it is stored with the index, and others should not see the paths of this machine.
    content = "\n".join([str(path), str(limit or "all"), *marks])
    return f"{corpus} {hashlib.blake2b(content.encode(errors='replace'), digest_size=16).hexdigest()}"


def _files(folder: Path) -> list[Path]:
    """Return all files below a folder, or raise `InputError` if it is far too large for a corpus."""
    try:
        files = sorted(islice((file for file in folder.rglob("*") if file.is_file()), MOST_FILES + 1))
    except OSError as error:
        raise InputError(
            f"The folder {folder} can't be read ({error.strerror}: {error.filename})",
            "give the folder of the corpus with <path>",
        ) from None
    if len(files) > MOST_FILES:
        raise InputError(
            f"The folder {folder} holds more than {MOST_FILES:,} files", "give the folder of the corpus with <path>"
        )
    return files


def origin_of(corpus: Corpus, path: Path) -> str:
    """Return the name by which an index remembers where its papers come from, the same on every machine.

    It is the corpus's name; for a format of many corpora, also the name of the file and its folder, or of the folder
    that is read: `jsonl:library/papers.jsonl`, packed or not. The path is absolute.
    """
    if not corpus.is_form:
        return corpus.name
    name = path.name
    for suffix in filter(None, COMPRESSED_SUFFIXES):
        name = name.removesuffix(suffix)
    place = name if path.is_dir() else "/".join(filter(None, (path.parent.name, name)))
    # A file's name may contain bytes that aren't text.
    return f"{corpus.name}:{place}".encode(errors="replace").decode()[:LONGEST_ORIGIN]


def check_origin(name: str) -> str:
    """Return a name that the user gives to an origin, or raise `InputError` if it can't be one."""
    name = name.strip()
    if not (name.isprintable() and 0 < len(name) <= LONGEST_ORIGIN):
        raise InputError(
            f"An origin can't be named {name[:40]!r}", f"give <origin> up to {LONGEST_ORIGIN} visible characters"
        )
    return name


def read_each(path: Path, files: Iterable[Path], read: Callable[[Path], Iterator[Record]]) -> Iterator[Record]:
    """Yield the records of files in order; if `path` is their folder, the reason of a rejection names the file."""
    for file in files:
        for record in read(file):
            if isinstance(record, Rejected) and file != path:
                yield replace(record, reason=f"{file.relative_to(path)}: {record.reason}")
            else:
                yield record
