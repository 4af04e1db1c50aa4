"""Papers of reviewers, from a corpus that names the reviewers of each paper, or from OpenReview's files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from corpora.assembling import assemble
from corpora.documents import json_of, read_within
from corpora.errors import InputError, require
from corpora.json_objects import read_lines
from corpora.opening import open_binary
from corpora.paper import Accepted, Paper, Record, Rejected
from products.reviewers.pool import FIELD

_ATTRIBUTES = ("title", "abstract", "authors", "keywords", "venue", "year")

LARGEST = 256 << 20
"""Bytes of a JSON file that is not one of lines."""


@dataclass(frozen=True, slots=True)
class ProfilePapers:
    """Papers of reviewers, each once, with the ids of its reviewers in `extra`.

    Also records that are no papers of a reviewer, and reviewers without any paper.
    """

    papers: tuple[Paper, ...]
    rejected: tuple[Rejected, ...] = ()
    empty: tuple[str, ...] = ()

    def sizes(self) -> dict[str, int]:
        """Return the number of papers of each reviewer who has one."""
        sizes: dict[str, int] = {}
        for paper in self.papers:
            for reviewer in _reviewers(paper):
                sizes[reviewer] = sizes.get(reviewer, 0) + 1
        return sizes


def gather_profiles(records: Iterable[Record], empty: Sequence[str] = ()) -> ProfilePapers:
    """Join the records of a paper: a paper of several reviewers is one paper, with their ids in `extra`.

    `empty` names reviewers who are known to have no paper. A record that names no reviewer is rejected. Raises
    `InputError` if no paper has a reviewer.
    """
    papers: dict[str, Paper] = {}
    rejected = []
    for record in records:
        if isinstance(record, Rejected):
            rejected.append(record)
        elif isinstance(record, Accepted):
            paper = record.paper
            if not _reviewers(paper):
                rejected.append(Rejected(record.line, "It names no reviewer.", paper.id))
                continue
            others = _reviewers(papers[paper.id]) if paper.id in papers else ()
            together = tuple(dict.fromkeys((*others, *_reviewers(paper))))
            papers[paper.id] = replace(paper, extra={**paper.extra, FIELD: together})
    if not papers:
        why = f": {rejected[0].reason}" if rejected else "."
        raise InputError(f"No paper of a reviewer could be read{why}")
    return ProfilePapers(tuple(papers.values()), tuple(rejected), tuple(sorted(empty)))


def read_openreview(path: Path) -> ProfilePapers:
    """Read reviewers' papers in OpenReview's form.

    That is a folder of files of JSON lines, one for each reviewer and named after them, or one with a folder `archives`
    of them (as openreview-expertise has it); or a JSON file: an object of notes by reviewer, or a list of objects with
    `id` and `publications`. Raises `InputError` if it is none of these, or a reviewer comes twice.
    """
    archives = dict(_folder(path) if path.is_dir() else _file(path))
    empty = [reviewer for reviewer, notes in archives.items() if not notes]
    records = (
        record_of(line, note, {FIELD: (reviewer,)})
        for reviewer, notes in archives.items()
        for line, note in enumerate(notes, start=1)
    )
    return gather_profiles(records, empty)


def read_notes(path: Path) -> Iterator[Record]:
    """Yield the papers of OpenReview's notes: one a line, a list, or an object of notes by id."""
    content = _json(path) if path.suffix == ".json" else list(_lines(path))
    notes = list(content.values()) if isinstance(content, dict) else content
    if not isinstance(notes, list):
        raise InputError(f"{path} holds no notes of OpenReview: it should be an object or a list.")
    return (record_of(line, note) for line, note in enumerate(notes, start=1))


def record_of(line: int, note: object, extra: Mapping[str, tuple[str, ...]] | None = None) -> Record:
    """Return a note of OpenReview's API, version 1 or 2, as a paper, or the reason why it is none."""
    if not isinstance(note, Mapping) or not isinstance(content := note.get("content"), Mapping):
        return Rejected(line, "It is no note of OpenReview: it has no content.")
    # Version 2 has an object with the value of each field.
    plain = {name: value["value"] if isinstance(value, Mapping) and "value" in value else value
             for name, value in content.items()}  # fmt: skip
    known = {name: plain[name] for name in _ATTRIBUTES if name in plain}
    if "year" not in known and isinstance(milliseconds := note.get("pdate") or note.get("cdate"), int | float):
        known["year"] = datetime.fromtimestamp(milliseconds / 1000, UTC).year
    made = assemble(line, {"id": note.get("id"), **known}, {})
    if isinstance(made, Accepted) and extra:
        return Accepted(made.line, replace(made.paper, extra=extra))
    return made


def _reviewers(paper: Paper) -> tuple[str, ...]:
    named = paper.extra.get(FIELD, ())
    return named if isinstance(named, tuple) else (str(named),)


def _folder(path: Path) -> Iterator[tuple[str, list[Any]]]:
    folder = path / "archives" if (path / "archives").is_dir() else path
    files = sorted(folder.glob("*.jsonl"))
    require(files, f"{path} has no files NAME.jsonl of reviewers' papers, nor a folder archives with such files.")
    for file in files:
        yield file.stem, list(_lines(file)) if file.stat().st_size else []


def _file(path: Path) -> Iterator[tuple[str, list[Any]]]:
    content = _json(path)
    if isinstance(content, list) and all(isinstance(one, Mapping) for one in content):
        pairs = [(one.get("id"), one.get("publications")) for one in content]
    else:
        pairs = list(content.items()) if isinstance(content, Mapping) else []
    seen: set[str] = set()
    for reviewer, notes in pairs:
        if not isinstance(reviewer, str) or not isinstance(notes, list):
            raise InputError(f"{path} is not in OpenReview's form: a reviewer has an id, and publications as a list.")
        if reviewer in seen:
            raise InputError(f"{path} has two reviewers with the id {reviewer}: join them, or rename one.")
        seen.add(reviewer)
        yield reviewer, notes


def _json(path: Path) -> Any:
    with open_binary(path) as stream:
        try:
            return json_of(read_within(stream, LARGEST))
        except ValueError as error:
            raise InputError(f"{path} can't be read as JSON ({error}); large files can be JSON lines.") from error


def _lines(path: Path) -> Iterator[Any]:
    with open_binary(path) as stream:
        for item in read_lines(stream):
            yield None if isinstance(item, Rejected) else item.members
