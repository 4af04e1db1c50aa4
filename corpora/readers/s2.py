"""Semantic Scholar's datasets (api.semanticscholar.org/api-docs/datasets), or papers saved from its API (S2AG).

The datasets keep titles (`papers`) and abstracts (`abstracts`) apart, in many files that share the `corpusid`. Given a
folder with both, abstracts are first copied into a temporary SQLite file, so that memory does not grow with them.
"""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from corpora.accounting import accounted
from corpora.aliases import normal_name
from corpora.assembling import assemble
from corpora.cleaning import text_of
from corpora.custom import CustomField
from corpora.errors import require
from corpora.markup import plain_members
from corpora.opening import PLAIN, Opening
from corpora.paper import Record, Rejected
from corpora.readers.jsonl import json_files, read_file
from corpora.reading import read_each

_ABSTRACTS = "abstracts"
_WANTED = "papers in JSON, as Semantic Scholar publishes them"


def read(
    path: Path,
    columns: Mapping[str, str],  # noqa: ARG001  # every reader is given it
    custom: Sequence[CustomField] = (),
    opening: Opening = PLAIN,
) -> Iterator[Record]:
    """Read Semantic Scholar's papers lazily; see `Reader`.

    In a folder, the names of files or of their folders begin with `papers` and, where they hold abstracts, with
    `abstracts`. A paper's id is the `corpusid`, or the `paperId` if there is none. A line of abstracts that can't be
    read is rejected. Abstracts of papers that aren't there are left out. Custom fields can be any plain member, such as
    `citationcount` or `publicationdate`.
    """
    files = [path]
    abstracts: list[Path] = []
    if path.is_dir():
        every = json_files(path)
        abstracts = [file for file in every if _names(file, path, _ABSTRACTS)]
        files = [file for file in every if _names(file, path, "papers")]
        require(files, f"{path} holds no file or folder papers*, as Semantic Scholar's datasets do: name another.")
    with _Abstracts() as kept:
        yield from read_each(path, abstracts, lambda file: kept.add(file, opening.encoding))
        yield from read_each(path, files, lambda file: _read_papers(file, kept.of, custom, opening.encoding))


def _names(file: Path, folder: Path, dataset: str) -> bool:
    return any(part.lower().startswith(dataset) for part in file.relative_to(folder).parts)


def _read_papers(
    path: Path, abstract_of: Callable[[str], str], custom: Sequence[CustomField], encoding: str
) -> Iterator[Record]:
    for item in read_file(path, _WANTED, encoding):
        if isinstance(item, Rejected):
            yield item
            continue
        yield accounted(item.members, partial(_paper, item.line, abstract_of, custom))


def _paper(
    line: int, abstract_of: Callable[[str], str], custom: Sequence[CustomField], members: Mapping[str, object]
) -> Record:
    paper = {normal_name(name): value for name, value in members.items()}
    ids = paper.get("externalids")
    ids = {normal_name(kind): value for kind, value in ids.items()} if isinstance(ids, dict) else {}
    id_ = text_of(paper.get("corpusid") or ids.get("corpusid") or paper.get("paperid"))
    journal = journal if isinstance(journal := paper.get("journal"), dict) else {}
    venue = venue if isinstance(venue := paper.get("publicationvenue"), dict) else {}
    venue = {normal_name(name): value for name, value in venue.items()}
    record = {
        **paper,
        "id": id_,
        "abstract": text_of(paper.get("abstract")) or abstract_of(id_),
        "venue": text_of(paper.get("venue")) or journal.get("name") or venue.get("name"),
        "publicationvenue": None,
        "volume": journal.get("volume"),
        "pages": journal.get("pages"),
        "issn": [text_of(venue.get("issn")), text_of(venue.get("alternateissns"))],
        "references": [_cited(cited) for cited in _list(paper.get("references"))],
    }
    return assemble(line, plain_members(record, ("title", "abstract", "venue")), {}, custom, members)


def _cited(paper: object) -> object:
    """Return the id of a cited paper in the form of the ids of papers."""
    return (paper.get("corpusId") or paper.get("paperId")) if isinstance(paper, dict) else paper


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


class _Abstracts:
    """Abstracts by corpus id, in a temporary file."""

    def __enter__(self) -> _Abstracts:
        self._folder = tempfile.TemporaryDirectory(prefix="ses-")
        # Read from another thread than the one that opened it, never from two at once.
        self._store = sqlite3.connect(Path(self._folder.name) / "abstracts", check_same_thread=False)
        self._store.execute("PRAGMA synchronous = OFF")
        self._store.execute("PRAGMA journal_mode = OFF")
        self._store.execute("CREATE TABLE abstract (id TEXT PRIMARY KEY, text TEXT) WITHOUT ROWID")
        return self

    def __exit__(self, *raised: object) -> None:
        self._store.close()
        self._folder.cleanup()

    def add(self, path: Path, encoding: str) -> Iterator[Rejected]:
        """Store the abstracts of a file; yield the lines that can't be read."""
        for item in read_file(path, _WANTED, encoding):
            if isinstance(item, Rejected):
                yield item
                continue
            id_, abstract = text_of(item.members.get("corpusid")), text_of(item.members.get("abstract"))
            if not id_:
                yield Rejected(item.line, "The abstract has no corpusid.")
            elif abstract:
                self._store.execute("INSERT OR REPLACE INTO abstract VALUES (?, ?)", (id_, abstract))

    def of(self, id_: str) -> str:
        """Return the abstract of a paper, empty where there is none."""
        found = self._store.execute("SELECT text FROM abstract WHERE id = ?", (id_,))
        row = found.fetchone()
        return str(row[0]) if row else ""
