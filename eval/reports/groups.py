"""Which values of a table stand beside each other as bars."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eval.reports.plots import Cell
from eval.statistics.interval import Interval

if TYPE_CHECKING:
    from eval.reports.report import Report

Groups = dict[str, dict[str, Cell]]
"""By group and series, the value."""

SERIES = 8
"""Colours of a plot that can be told apart."""


def groups_of(report: Report) -> list[Groups]:
    """Part a table of measures into plots: values of other sizes than the rest would make these invisible beside them.

    Where all rows have all measures, they are compared by measure; else, as with tasks that each have measures of their
    own, the groups are rows.

    Args:
        report: The table.

    Returns:
        The groups of each plot.
    """
    plots = []
    for measures in _alike(report):
        rows = [row for row in report.rows if row.cells.keys() & set(measures)]
        if len(rows) <= SERIES and all(row.cells.keys() >= set(measures) for row in rows):
            plots.append({measure: {row.label: row.cells[measure] for row in rows} for measure in measures})
        else:
            chunks = [measures[start : start + SERIES] for start in range(0, len(measures), SERIES)]
            plots += [_rows(report, chunk) for chunk in chunks]
    return plots


def by_row(report: Report) -> Groups:
    """Return a table's values by row and column."""
    return _rows(report, list(report.columns))


def _rows(report: Report, columns: list[str]) -> Groups:
    cells = {row.label: {name: row.cells[name] for name in columns if name in row.cells} for row in report.rows}
    return {label: one for label, one in cells.items() if one}


def _alike(report: Report) -> list[list[str]]:
    """Part measures into those within -1 to 1, and each of the others."""
    reach = {
        measure: max(_reach(row.cells[measure]) for row in report.rows if measure in row.cells)
        for measure in report.columns
    }
    usual = [measure for measure, most in reach.items() if most <= 1]
    return [*([usual] if usual else []), *([measure] for measure, most in reach.items() if most > 1)]


def _reach(cell: Cell) -> float:
    return max(abs(cell.low), abs(cell.high), abs(cell.mean)) if isinstance(cell, Interval) else abs(cell)
