"""The report of results: a table of what was measured, bars, how far intervals can be relied on, speed and quality."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from eval.reports.comparison import differences_table, scatter_of
from eval.reports.document import Document, Plot
from eval.reports.groups import by_row, groups_of
from eval.reports.per_query import query_tables, scatter_plots
from eval.reports.plots import Cell, bars, reliability, speed_and_quality
from eval.statistics.bootstrap import interval_coverage
from eval.statistics.interval import UNIT, Interval

if TYPE_CHECKING:
    from eval.reports.provenance import Provenance
    from eval.reports.report import Report
    from eval.statistics.interval import Scale
    from eval.statistics.pairs import Pair, Values

FEWEST = 10
"""Values from which the coverage of intervals is worth a look."""

LINES = 8
"""Lines of a plot that can be told apart."""


def results_document(
    title: str,
    report: Report,
    provenance: Provenance,
    *,
    values: Mapping[str, Values] | None = None,
    pairs: Sequence[Pair] = (),
    seconds: Mapping[str, float] | None = None,
    systems: Mapping[str, Mapping[str, float]] | None = None,
) -> Document:
    """Make the report of a table of results.

    Args:
        title: Its heading.
        report: The table.
        provenance: How it was made.
        values: By the table's labels and measure, the values its means are of; with `systems`, by system and row.
        pairs: What `compare_values` found between labels that were measured on the same queries.
        seconds: By the table's labels, how long it took.
        systems: Where the columns are no measures but systems, such as models: by column and row, how long it took.

    Returns:
        The report.
    """
    known = values or {}
    tables = [report.table(title)]
    if pairs:
        tables.append(differences_table(pairs, report.level))
    grouped = [by_row(report)] if systems else groups_of(report)
    plots = [_bars(groups, report) for groups in grouped if groups]
    plots += _speed_of_systems(report, systems) if systems else _speed(report, seconds or {})
    # One measure's points say it: those of others look alike.
    drawn = [scatter_of(pair) for pair in pairs if pair.measure == pairs[0].measure]
    plots += [*(drawn or scatter_plots(known)), *_reliability(known)]
    told = {
        **report.as_dict(),
        "pairs": [pair.as_dict() for pair in pairs],
        "per_unit": {label: dict(one) for label, one in known.items()},
        "seconds": {label: dict(one) for label, one in systems.items()} if systems else dict(seconds or {}),
    }
    return Document(title, provenance, tuple(tables), tuple(plots), told, query_tables(known))


def _bars(groups: Mapping[str, Mapping[str, Cell]], report: Report) -> Plot:
    known = [isinstance(cell, Interval) for one in groups.values() for cell in one.values()]
    where = "" if all(known) else ", where they are known,"
    lines = f"; lines{where} are {report.level:.0%} confidence intervals" if any(known) else ""
    return Plot("Values", f"The values of the table{lines}.", partial(bars, groups))


def _reliability(values: Mapping[str, Values]) -> list[Plot]:
    plots: list[Plot] = []
    for measure in dict.fromkeys(measure for one in values.values() for measure in one):
        enough = {
            label: tuple(one[measure].values())
            for label, one in values.items()
            if measure in one and len(one[measure]) >= FEWEST
        }
        labels = list(enough)
        for start in range(0, len(labels), LINES):
            lines = {label: enough[label] for label in labels[start : start + LINES]}
            told = _HOW if not plots else "as above."
            plots.append(Plot("Reliability of the intervals", f"{measure}: {told}", partial(_draw_reliability, lines)))
    return plots


_HOW = (
    "how far the intervals can be relied on. The queries are split in half many times; the interval of one half, "
    "widened by the square root of 2 because the other half's mean scatters too, should hold the other's mean as often "
    "as its level says. Below the dashed line intervals are too narrow, above it too wide."
)


def _draw_reliability(values: Mapping[str, tuple[float, ...]]) -> str:
    return reliability({label: interval_coverage(one, scale=_scale(one)) for label, one in values.items()})


def _scale(values: Sequence[float]) -> Scale | None:
    return UNIT if min(values) >= 0 and max(values) <= 1 else None


def _speed(report: Report, seconds: Mapping[str, float]) -> list[Plot]:
    """Plot the first measure that more than one of what was timed has: quality alone can't be weighed against time."""
    timed = [row for row in report.rows if seconds.get(row.label, 0) > 0]
    for measure in report.columns:
        cells = {row.label: row.cells[measure] for row in timed if measure in row.cells}
        if len(cells) > 1:
            return [_speed_plot(seconds, cells, measure, f"{measure} against time")]
    return []


def _speed_of_systems(report: Report, systems: Mapping[str, Mapping[str, float]]) -> list[Plot]:
    """Plot what systems come to, over the rows that all of them have and that took each of them some time."""
    shared = [
        row
        for row in report.rows
        if all(name in row.cells and took.get(row.label, 0) > 0 for name, took in systems.items())
    ]
    if len(systems) < 2 or not shared:
        return []
    seconds = {name: sum(took[row.label] for row in shared) for name, took in systems.items()}
    cells: dict[str, Cell] = {name: sum(_mean(row.cells[name]) for row in shared) / len(shared) for name in systems}
    told = f"Mean of the {len(shared)} rows that all systems have, against their time together"
    return [_speed_plot(seconds, cells, "mean of values", told)]


def _speed_plot(seconds: Mapping[str, float], cells: Mapping[str, Cell], measure: str, told: str) -> Plot:
    caption = f"{told}: up and to the left is better."
    return Plot("Speed against quality", caption, partial(speed_and_quality, seconds, cells, measure))


def _mean(cell: Cell) -> float:
    return cell.mean if isinstance(cell, Interval) else cell
