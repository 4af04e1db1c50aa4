"""The report of a forecaster: how well it does, and whether its intervals hold as often as they claim."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from eval.reports.plots import curves
from eval.reports.report import Plot, Provenance, Report, TextTable
from products.forecasts.forecaster import Forecaster

CAUTION = (
    "A forecast repeats the past: it favours topics, words and venues that were cited often, and says nothing of a "
    "paper's quality. Don't judge people or decide on single papers by it."
)


def forecaster_lines(forecaster: Forecaster) -> Iterator[str]:
    """Yield what a forecaster is and how well it does, line by line; years are in a table of the report."""
    yield f"Forecaster {forecaster.name}: {forecaster.made_from}, on {forecaster.source}"
    found = forecaster.measures
    if found:
        yield f"Measured on {found.how}"
        yield (
            f"Intervals of {forecaster.level:.0%} hold {found.coverage:.1%}; their mean width is {found.width:.0f} "
            "percentiles"
        )
        yield (
            f"Mean error {found.error:.1f} percentiles, {found.blind_error:.1f} if every forecast is 50; Spearman's "
            f"correlation {found.correlation:.3f}"
        )


def forecaster_report(forecaster: Forecaster, provenance: Provenance) -> Report:
    """Return the report of a forecaster; its plot shows how often the intervals hold in each year."""
    found = forecaster.measures
    by_year = found.by_year if found else ()
    rows = tuple((str(year), f"{share:.0%}", f"{count:,}") for year, share, count in by_year)
    notes = (*forecaster_lines(forecaster), CAUTION)
    lines = {
        "intervals that hold": {year: share for year, share, _ in by_year},
        "as promised": {year: forecaster.level for year, _, _ in by_year},
    }
    caption = "Where the line is far below the promise, intervals are too narrow; years of few papers vary by chance."
    plots = [Plot("Intervals by year", caption, partial(curves, lines, "year", "share"))] if rows else []
    table = TextTable("Years", ("year", "intervals hold", "papers"), rows, notes=notes)
    return Report(f"Forecaster {forecaster.name}", provenance, (table,), tuple(plots))
