"""Reads fields of papers as they occur in files: numbers as strings, single labels or lists, concepts with levels."""

from __future__ import annotations

import math
from collections.abc import Iterator

from training.data.builders.base import PaperRecord


def number_of(value: object) -> float | None:
    """Return a finite number, which may be written as a string; None for anything else."""
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value)


def labels_in(paper: PaperRecord, field: str) -> Iterator[tuple[str, float | None, float | None]]:
    """Yield the labels that a field holds.

    Args:
        paper: A record.
        field: Holds a label, a list of labels, or a list of [label, level, score], as OpenAlex's concepts are.

    Yields:
        Label, level and score in their order; None for a level or a score that is not given.
    """
    given = paper.get(field)
    for one in given if isinstance(given, list) else [given]:
        name, level, score = (*one, None, None, None)[:3] if isinstance(one, list) else (one, None, None)
        if name not in (None, "") and (label := str(name).strip()):
            yield label, number_of(level), number_of(score)
