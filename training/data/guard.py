"""Refuses papers for training: those that evaluations test on, and duplicates."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eval.frozen import Frozen, ids_of, read_frozen, title_key
from training.data.builders.base import PaperRecord
from training.data.records import read_records
from training.data.titles import titles_of


@dataclass(frozen=True, slots=True)
class Names:
    """Keys that identify a paper.

    Attributes:
        ids: Identifiers as `eval.frozen.ids_of` gives them.
        title: As `eval.frozen.title_key` gives it.
    """

    ids: frozenset[str]
    title: str


def names_of(paper: Mapping[str, Any]) -> Names:
    """Return the keys that identify a paper."""
    return Names(frozenset(ids_of(paper)), title_key(paper.get("title")))


@dataclass(frozen=True, slots=True)
class Guard:
    """Recognizes papers of evaluation sets by id and by title.

    Attributes:
        ids: Identifiers as `eval.frozen.ids_of` gives them.
        titles: As `eval.frozen.title_key` gives them.
    """

    ids: frozenset[str] = frozenset()
    titles: frozenset[str] = frozenset()

    def reason(self, record: Mapping[str, Any], own: Names | None = None) -> str:
        """Return why a record is refused; the papers inside a record are checked too.

        Args:
            record: A paper, or a record of a task.
            own: The keys of the record itself, if they are known already.

        Returns:
            The reason, empty if it is not refused.
        """
        for names in (own or names_of(record), *map(names_of, _inside(record))):
            if not names.ids.isdisjoint(self.ids):
                return "id of an evaluation set"
            if names.title in self.titles:
                return "title of an evaluation set"
        # In DPR's form, a paper that asks is one text: its title, a separator and its abstract.
        query, question = record.get("query"), str(record.get("question") or "").partition("[SEP]")[0]
        asked = {title_key(text) for text in (query, question) if text and isinstance(text, str)}
        return "title of an evaluation set" if not asked.isdisjoint(self.titles) else ""


def make_guard(paths: Sequence[Path], frozen: Frozen | None = None) -> Guard:
    """Make a guard from the suites' frozen papers and from files that the user names.

    Args:
        paths: Files of papers or folders of them, such as a folder in BEIR's form; their titles are refused. Their
            ids are not: many data sets number their papers from 1.
        frozen: The file of frozen papers; by default the one in this project.

    Returns:
        The guard.

    Raises:
        InputError: If a file can't be read or holds no title.
    """
    frozen = frozen or read_frozen()
    titles = {title_key(title) for path in paths for title in titles_of(path)}
    return Guard(frozen.ids, frozen.titles | (titles - {""}))


def read_papers(files: Sequence[Path], guard: Guard, counts: Counter[str]) -> Iterator[PaperRecord]:
    """Read papers that may be trained on, each once.

    Args:
        files: JSON lines, arrays, or objects of objects, plain or compressed.
        guard: Decides which papers are refused.
        counts: Set after a complete pass: records read, malformed, refused by reason, and duplicates.

    Yields:
        The records, in the order of the files.
    """
    told, ids, titles = Counter[str](read=0), set[int](), set[str]()
    for path in files:
        for _, record in read_records(path):
            told["read"] += 1
            if isinstance(record, str):
                told["malformed"] += 1
                continue
            names = names_of(record)
            # For millions of papers, hashes take a fraction of the memory of titles.
            own, title = set(map(hash, names.ids)), names.title
            if reason := guard.reason(record, names):
                told[f"refused: {reason}"] += 1
            elif not own.isdisjoint(ids):
                told["duplicate: id"] += 1
            elif title in titles:
                told["duplicate: title"] += 1
            else:
                ids |= own
                titles |= {title} - {""}
                yield record
    counts.clear()
    counts.update(told)


def _inside(record: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for value in record.values():
        inside = [value] if isinstance(value, dict) else value if isinstance(value, list) else []
        yield from (one for one in inside if isinstance(one, dict))
