"""Labels of a file: how files write a decision, and the papers of an index that records belong to.

Decisions follow the conventions of ASReview (its documentation, "Data format", section Label).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from corpora.aliases import normal_name
from corpora.errors import InputError
from corpora.paper import Paper

COLUMNS = (
    *("asreview_label", "included", "label", "labels", "final_included", "label_included", "included_label"),
    *("included_final", "included_flag", "include"),
)
"""Columns that may hold the decision; the first one found is used."""

NOTES = {"ASReview_relevant": True, "ASReview_irrelevant": False}
"""Notes of RIS records; ASReview_not_seen marks a record without a decision."""

NOT_SEEN = "ASReview_not_seen"

_WORDS = {"1": True, "1.0": True, "0": False, "0.0": False, "yes": True, "no": False, "true": True, "false": False}
_UNDECIDED = ("", "-1", "-1.0", "nan", "none", "na")


REASONS = ("exclusion_reason", "reason")
"""Columns that may hold why a paper is excluded; the first one is written."""

SCREENERS = ("decided_by", "screener")
"""Columns that may hold who decided; the first one is written."""


def column_of(header: tuple[str, ...], names: Sequence[str]) -> str:
    """Return the first column that has one of some names, in its own spelling; empty if there is none."""
    spelled = {normal_name(name): name for name in reversed(header)}
    return next((spelled[normal_name(name)] for name in names if normal_name(name) in spelled), "")


def parse_decision(text: str) -> bool | None:
    """Return the decision of a cell, None for an undecided one; `ValueError` for anything else."""
    word = text.strip().lower()
    if word in _UNDECIDED:
        return None
    if word not in _WORDS:
        raise ValueError(f"{text[:40]!r} is no decision; write 1 or 0.")
    return _WORDS[word]


def parse_notes(notes: str) -> bool | None:
    """Return the decision in the notes of a RIS record."""
    words = notes.replace(";", " ").replace(",", " ").split()
    return next((decision for note, decision in NOTES.items() if note in words), None)


@dataclass(frozen=True, slots=True)
class FileLabel:
    """A record of a file with a decision; its id and title may be empty.

    Attributes:
        line: Where it begins, from 1; the number of the record in an ASReview project.
        id: The record's own id.
        title: The record's title.
        identifiers: Identifiers such as `doi:10.1000/182`.
        included: The decision.
        reason: Why it is excluded; empty if the file does not say it.
        by: Who decided; empty if the file does not say it.
    """

    line: int
    id: str
    title: str
    identifiers: tuple[str, ...]
    included: bool
    reason: str = ""
    by: str = ""


@dataclass(frozen=True, slots=True)
class LabelFile:
    """The labels of a file, and how many of its records have no decision, or can't be read."""

    path: Path
    labels: tuple[FileLabel, ...]
    undecided: int = 0
    rejected: int = 0


@dataclass(frozen=True, slots=True)
class MatchedLabels:
    """The record of each candidate, by its id in the index; and lines of records that no candidate matches."""

    labels: Mapping[str, FileLabel]
    unknown: tuple[int, ...]


def match(file: LabelFile, papers: Sequence[Paper]) -> MatchedLabels:
    """Find the candidates that the records of a file are: by id, then by identifier, then by title.

    A title that several candidates share names none of them. Raises `InputError` if the file holds no decision, no
    record is a candidate, or a paper has two decisions.
    """
    if not file.labels:
        raise InputError(
            f"{file.path} holds no decision",
            "give a column included with 1 and 0, or notes ASReview_relevant and ASReview_irrelevant in RIS",
        )
    ids = {paper.id for paper in papers}
    by_identifier = {name: paper.id for paper in papers for name in paper.identifiers}
    by_title: dict[str, str] = {}
    for paper in papers:
        key = _plain(paper.title)
        by_title[key] = "" if key in by_title else paper.id
    labels: dict[str, FileLabel] = {}
    unknown = []
    for one in file.labels:
        named = next((by_identifier[name] for name in one.identifiers if name in by_identifier), "")
        found = one.id if one.id in ids else named or by_title.get(_plain(one.title), "")
        if not found:
            unknown.append(one.line)
        elif found in labels and labels[found].included != one.included:
            raise InputError(
                f"{file.path} both includes and excludes the paper {found!r} (records {labels[found].line} and "
                f"{one.line})",
                "keep one of them",
            )
        else:
            labels.setdefault(found, one)
    if not labels:
        raise InputError(
            f"No record of {file.path} is a candidate of the review",
            "index the same papers first, or correct the ids, DOIs or titles of the file",
        )
    return MatchedLabels(labels, tuple(unknown))


def _plain(title: str) -> str:
    return "".join(char for char in title.lower() if char.isalnum())
