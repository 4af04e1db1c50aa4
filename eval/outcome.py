"""A protocol's result: measures with intervals, the values they are means of, and counts of what was left out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from eval.statistics.interval import Cell, Values, mean_interval


@dataclass(frozen=True, slots=True)
class Outcome:
    """A protocol's result on one data set.

    Attributes:
        cells: The value of each measure, with an interval if it is taken over units that can be resampled.
        per_unit: For each measure that is a mean, the value of each query, label or fold.
        counts: What was measured and what was not: `queries`, `papers_missing`, ...; those of 0 aren't shown.
        notes: What to know of some measures.
    """

    cells: Mapping[str, Cell]
    per_unit: Values = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)
    notes: Mapping[str, str] = field(default_factory=dict)


def outcome_of(values: Values, counts: Mapping[str, int], *, level: float = 0.95) -> Outcome:
    """Return the outcome of values from 0 to 1: the mean of each measure with its interval."""
    cells = {measure: mean_interval(tuple(of_unit.values()), level=level) for measure, of_unit in values.items()}
    return Outcome(cells, values, counts)
