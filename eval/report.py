"""A table of results: rows that were measured, columns of measures, each with its interval where there is one."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from eval.bootstrap import Interval, bootstrap_interval

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rich.console import Console

    from eval.metrics import Scores


@dataclass(frozen=True, slots=True)
class Row:
    """The results of one thing measured.

    Attributes:
        label: What was measured: a search mode, a model, a task.
        cells: Measure to its value, with an interval where there are values per query.
        counts: What to tell beside the values, such as how many queries; those of 0 aren't shown.
    """

    label: str
    cells: Mapping[str, Interval | float]
    counts: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Report:
    """A table.

    Attributes:
        heading: What the rows' labels are, such as `mode`.
        rows: The rows, in the order they are shown.
        level: Confidence level of the intervals.
    """

    heading: str
    rows: tuple[Row, ...]
    level: float = 0.95

    @property
    def columns(self) -> tuple[str, ...]:
        """All measures, in the order in which they come up."""
        return tuple(dict.fromkeys(measure for row in self.rows for measure in row.cells))

    def as_dict(self) -> dict[str, Any]:
        """Return the table in full precision as JSON knows it; a cell has `mean`, and `low` and `high` where known."""
        rows = [
            {
                self.heading: row.label,
                "measures": {
                    measure: asdict(cell) if isinstance(cell, Interval) else {"mean": cell}
                    for measure, cell in row.cells.items()
                },
                "counts": dict(row.counts),
            }
            for row in self.rows
        ]
        return {"level": self.level, "rows": rows}


def report_of(scores: Mapping[str, Scores], *, heading: str = "mode", level: float = 0.95) -> Report:
    """Make a report of runs measured on the same judgments.

    Args:
        scores: Label of each run, such as its search mode, and its scores.
        heading: What the labels are.
        level: Confidence level of the intervals, taken over queries.

    Returns:
        The report.
    """
    rows = tuple(
        Row(
            label,
            {
                measure: bootstrap_interval(tuple(values.values()), level=level)
                for measure, values in one.per_query.items()
            },
            {
                "queries": one.queries,
                "without_results": one.without_results,
                "without_relevant": one.without_relevant,
                "unjudged": one.unjudged,
                "same_id_dropped": one.same_id_dropped,
            },
        )
        for label, one in scores.items()
    )
    return Report(heading, rows, level)


def print_report(report: Report, console: Console) -> None:
    """Print the table: drawn by rich on a terminal, aligned text of one line a row anywhere else.

    Args:
        report: The report.
        console: Where to.
    """
    header = (report.heading, *report.columns)
    body = [(row.label, *(_shown(row.cells.get(measure)) for measure in report.columns)) for row in report.rows]
    if console.is_terminal:
        from rich.table import Table
        from rich.text import Text

        table = Table(*header)
        for cells in body:
            table.add_row(*map(Text, cells))
        console.print(table)
    else:
        widths = [max(map(len, column)) for column in zip(header, *body, strict=True)]
        for cells in (header, *body):
            _print_line(console, "  ".join(map(str.ljust, cells, widths)).rstrip())
    if any(isinstance(cell, Interval) for row in report.rows for cell in row.cells.values()):
        _print_line(console, f"[low, high]: {report.level:.0%} bootstrap interval over queries")
    for row in report.rows:
        told = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in row.counts.items() if count)
        if told:
            _print_line(console, f"{row.label}: {told}")


def _shown(cell: Interval | float | None) -> str:
    if cell is None:
        return "-"
    if isinstance(cell, Interval):
        return f"{cell.mean:.3f} [{cell.low:.3f}, {cell.high:.3f}]"
    return f"{cell:.3f}"


def _print_line(console: Console, line: str) -> None:
    console.print(line, markup=False, highlight=False, soft_wrap=True)
