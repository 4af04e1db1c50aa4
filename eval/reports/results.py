"""The report of results: a table of what was measured, bars, how far intervals can be relied on, speed and quality."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from eval.reports.comparison import differences_table, scatter_of
from eval.reports.document import Document, Plot
from eval.reports.plots import bars, reliability, speed_and_quality
from eval.statistics.bootstrap import interval_coverage

if TYPE_CHECKING:
    from eval.reports.provenance import Provenance
    from eval.reports.report import Report
    from eval.statistics.bootstrap import Interval
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
) -> Document:
    """Make the report of a table of results.

    Args:
        title: Its heading.
        report: The table.
        provenance: How it was made.
        values: By the table's labels, the values its means are of.
        pairs: What `compare_values` found between labels that were measured on the same queries.
        seconds: By the table's labels, how long it took.

    Returns:
        The report.
    """
    known, took = values or {}, {label: time for label, time in (seconds or {}).items() if time > 0}
    tables = [report.table(title)]
    if pairs:
        tables.append(differences_table(pairs, report.level))
    plots = [*_bars(report), *_reliability(known), *_speed(report, took)]
    # One measure's points say it: those of others look alike.
    plots += [scatter_of(pair) for pair in pairs if pair.measure == pairs[0].measure]
    told = {
        **report.as_dict(),
        "pairs": [pair.as_dict() for pair in pairs],
        "per_unit": {label: dict(one) for label, one in known.items()},
        "seconds": dict(seconds or {}),
    }
    return Document(title, provenance, tuple(tables), tuple(plots), told)


def _bars(report: Report) -> list[Plot]:
    return [
        Plot(f"{measure}, with intervals where they are known.", partial(bars, _cells(report, measure), measure))
        for measure in report.columns
    ]


def _reliability(values: Mapping[str, Values]) -> list[Plot]:
    plots = []
    for measure in dict.fromkeys(measure for one in values.values() for measure in one):
        enough = {
            label: tuple(one[measure].values())
            for label, one in values.items()
            if measure in one and len(one[measure]) >= FEWEST
        }
        labels = list(enough)
        for start in range(0, len(labels), LINES):
            drawn = {label: enough[label] for label in labels[start : start + LINES]}
            plots.append(Plot(f"{measure}: {_HOW}", partial(_draw_reliability, drawn)))
    return plots


_HOW = (
    "how far the intervals can be relied on. The queries are split in half many times; the interval of one half, "
    "widened by the square root of 2 because the other half's mean scatters too, should hold the other's mean as often "
    "as its level says. Below the line intervals are too narrow, above it too wide."
)


def _draw_reliability(values: Mapping[str, tuple[float, ...]]) -> str:
    return reliability({label: interval_coverage(one) for label, one in values.items()})


def _speed(report: Report, seconds: Mapping[str, float]) -> list[Plot]:
    timed = {
        measure: {label: cell for label, cell in _cells(report, measure).items() if label in seconds}
        for measure in report.columns[:1]
    }
    return [
        Plot(
            f"{measure} against time: up and to the left is better.",
            partial(speed_and_quality, seconds, cells, measure),
        )
        for measure, cells in timed.items()
        if cells
    ]


def _cells(report: Report, measure: str) -> dict[str, Interval | float]:
    return {row.label: row.cells[measure] for row in report.rows if measure in row.cells}
