"""Refuses papers for training: those that evaluations test on, by ids and titles, and duplicates."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from corpora.errors import InputError, require
from corpora.paper import Rejected
from corpora.tables import open_table
from eval.files.archives import unpacked
from eval.frozen import Frozen, ids_of, read_frozen, title_key
from training.data.builders.base import PaperRecord
from training.data.records import read_records

PaperKeys = tuple[frozenset[str], str]
"""What identifies a paper: identifiers as `ids_of` gives them, and the key of its title as `title_key` gives it."""


def keys_of(paper: Mapping[str, Any]) -> PaperKeys:
    """Return the keys that identify a paper."""
    return frozenset(ids_of(paper)), title_key(paper.get("title"))


@dataclass(frozen=True, slots=True)
class Guard:
    """Recognizes papers of evaluation sets by identifiers and keys of titles (`ids_of` and `title_key`)."""

    ids: frozenset[str] = frozenset()
    titles: frozenset[str] = frozenset()

    def reason(self, record: Mapping[str, Any], own: PaperKeys | None = None) -> str:
        """Return why a record is refused, empty if it is not; the papers inside a record are checked too.

        The record is a paper, or a record of a task; `own` are the keys of the record itself, if they are known
        already.
        """
        for ids, title in (own or keys_of(record), *map(keys_of, _inside(record))):
            if not ids.isdisjoint(self.ids):
                return "id of an evaluation set"
            if title in self.titles:
                return "title of an evaluation set"
        # In DPR's form, a paper that asks is one text: its title, a separator and its abstract.
        query, question = record.get("query"), str(record.get("question") or "").partition("[SEP]")[0]
        titles = {title_key(text) for text in (query, question) if text and isinstance(text, str)}
        return "title of an evaluation set" if not titles.isdisjoint(self.titles) else ""


def make_guard(paths: Sequence[Path], frozen: Frozen | None = None) -> Guard:
    """Make a guard from the suites' frozen papers and from evaluation data that the user names.

    The titles in these files and folders are refused. Their ids are not: many data sets number their papers from 1.
    `InputError` if a file can't be read or holds no title.
    """
    frozen = frozen or read_frozen()
    titles = {title_key(title) for path in paths for title in titles_of(path)}
    return Guard(frozen.ids, frozen.titles | (titles - {""}))


def read_papers(files: Sequence[Path], guard: Guard, counts: Counter[str]) -> Iterator[PaperRecord]:
    """Yield the papers of JSON files that may be trained on, each once, in the order of the files.

    After a complete pass, `counts` has the records read, malformed, refused by reason, and duplicates.
    """
    found, ids, titles = Counter[str](read=0), set[int](), set[str]()
    for path in files:
        for _, record in read_records(path):
            found["read"] += 1
            if isinstance(record, str):
                found["malformed"] += 1
                continue
            keys = keys_of(record)
            # For millions of papers, hashes take a fraction of the memory of titles.
            own, title = set(map(hash, keys[0])), keys[1]
            if reason := guard.reason(record, keys):
                found[f"refused: {reason}"] += 1
            elif not own.isdisjoint(ids):
                found["duplicate: id"] += 1
            elif title in titles:
                found["duplicate: title"] += 1
            else:
                ids |= own
                titles |= {title} - {""}
                yield record
    counts.clear()
    counts.update(found)


def _inside(record: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for value in record.values():
        inside = [value] if isinstance(value, dict) else value if isinstance(value, list) else []
        yield from (one for one in inside if isinstance(one, dict))


_JSON, _TABLES = {".json", ".jsonl"}, {".csv", ".tsv"}
_TARS, _OTHER_ARCHIVES = {".tar", ".tgz", ".tbz", ".tbz2", ".txz"}, {".zip", ".7z", ".rar"}
_DEEPEST = 3
"""Archives within each other."""


def titles_of(path: Path) -> list[str]:
    """Return every title in evaluation data.

    The path is a file of papers, a folder of such files, such as one in BEIR's form, or a tar archive of a folder, also
    within another. In JSON, a title is what any object has under `title`; in a table, what the column `title` has.
    `InputError` if it can't be read, holds no title, or holds an archive that is not a tar archive.
    """
    found = list(_in_any(path, _DEEPEST))
    require(found, f"{path} holds no title to guard: name evaluation data with titles.")
    return found


def _in_any(path: Path, deepest: int) -> Iterator[str]:
    suffixes = {suffix.lower() for suffix in path.suffixes}
    if suffixes & _OTHER_ARCHIVES and path.is_file():
        raise InputError(f"{path} is an archive whose titles can't be guarded: unpack it and name the folder.")
    if not (path.is_dir() or suffixes & _TARS):
        yield from _in_file(path, suffixes)
        return
    require(
        deepest > 0, f"{path} is in more than {_DEEPEST} archives within each other: unpack it and name the folder."
    )
    with unpacked(path) as folder:
        for file in sorted(file for file in folder.rglob("*") if file.is_file() and file.stat().st_size):
            yield from _in_any(file, deepest - (not path.is_dir()))


def _in_file(path: Path, suffixes: set[str]) -> Iterator[str]:
    if suffixes & _JSON:
        for _, record in read_records(path):
            yield from _in_value(record)
    elif suffixes & _TABLES:
        with open_table(path, "evaluation data", ("csv", "cord19")) as table:
            named = [name for name in table.header if name.lower() in ("title", "primary_title")]
            for row in table.rows if named else ():
                if not isinstance(row, Rejected):
                    yield from filter(None, (row.cells[name] for name in named))


def _in_value(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(title := value.get("title"), str) and title:
            yield title
        for part in value.values():
            yield from _in_value(part)
    elif isinstance(value, list):
        for part in value:
            yield from _in_value(part)
