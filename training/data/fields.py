"""Reads fields of papers as they occur in files: numbers as strings, single labels or lists, concepts with levels.

It also finds papers that are close to a paper: with the same venue or an author in common, or linked by a citation.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence

from training.data.builders.base import PaperRecord, drawn, id_of


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
    """Yield label, level and score of the labels that a field holds; None for a level or a score that is not given.

    The field holds a label, a list of labels, or a list of [label, level, score], as OpenAlex's concepts are.
    """
    given = paper.get(field)
    for one in given if isinstance(given, list) else [given]:
        name, level, score = (*one, None, None, None)[:3] if isinstance(one, list) else (one, None, None)
        if name not in (None, "") and (label := str(name).strip()):
            yield label, number_of(level), number_of(score)


_DRAWS = 32


def names_in(paper: PaperRecord, field: str, level: float = -1) -> list[str]:
    """Return the names that `labels_in` finds, each once, without those of a lower level; -1 for all."""
    found = labels_in(paper, field)
    return list(dict.fromkeys(name for name, depth, _ in found if depth is None or depth >= level))


class Related:
    """Papers by what they have in common."""

    def __init__(self, papers: Iterable[PaperRecord], field: str) -> None:
        """Index papers. Two are close if their fields share an entry, or if one names the id of the other."""
        self._names: list[list[str]] = []
        self._rows: dict[str, array[int]] = {}
        for row, paper in enumerate(papers):
            names = names_in(paper, field)
            self._names.append(names)
            for name in (*names, id_of(paper)):
                self._rows.setdefault(name, array("q")).append(row)

    def draw(self, row: int, seed: str, fits: Callable[[int], bool]) -> int | None:
        """Return a suitable paper close to the paper of a row; None if a few draws find none."""
        groups: Sequence[Sequence[int]] = [self._rows[name] for name in self._names[row]]
        for number in range(_DRAWS if groups else 0):
            group = groups[int(drawn(seed, f"group {number}") * len(groups))]
            other = group[int(drawn(seed, f"paper {number}") * len(group))]
            if other != row and fits(other):
                return other
        return None


def draw_any(count: int, seed: str, fits: Callable[[int], bool]) -> int | None:
    """Return a suitable row below a number; None if a few draws find none."""
    rows = (int(drawn(seed, f"any {number}") * count) for number in range(_DRAWS))
    return next((row for row in rows if fits(row)), None)
