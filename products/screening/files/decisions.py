"""How files write a decision: the conventions of ASReview (its documentation, "Data format", section Label)."""

from __future__ import annotations

from corpora.aliases import normal_name

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


def label_column(header: tuple[str, ...]) -> str:
    """Return the column of decisions, in its own spelling; empty if there is none."""
    spelled = {normal_name(name): name for name in reversed(header)}
    return next((spelled[normal_name(name)] for name in COLUMNS if normal_name(name) in spelled), "")


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
