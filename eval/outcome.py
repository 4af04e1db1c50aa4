"""What a protocol found: measures with intervals, the values they are means of, and what was left out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from eval.reports.report import Row
from eval.statistics.interval import Interval


@dataclass(frozen=True, slots=True)
class Outcome:
    """A protocol's result on one data set.

    Attributes:
        cells: Measure to its value, with an interval wherever it is taken over something that can be resampled.
        per_unit: Measure to the value of each query, label or fold, where the measure is their mean.
        counts: What was measured and what was not: `queries`, `papers_missing`, ...; those of 0 aren't shown.
    """

    cells: Mapping[str, Interval | float]
    per_unit: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)

    def row(self, label: str) -> Row:
        """Return it as a row of a report."""
        return Row(label, self.cells, self.counts)
