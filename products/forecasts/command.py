"""`ses forecasts`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import rich_click as click

from products.forecasts.forecaster import Forecaster
from products.forecasts.training import ForecastOptions
from ses.terminal.options import described_options, engine_options, given_of, html_option, open_library
from ses.terminal.results import say, tell, write_page


@click.group()
def forecasts() -> None:
    """Forecast citations from vectors and words, as percentile within field and year (docs/forecasts.md)."""


@forecasts.command()
@click.argument("name")
@click.option("--index", metavar="NAME", help="The index to learn from [default: the default index].")
@click.option("--citations", required=True, metavar="FIELD", help="Field of the numbers of citations.")
@click.option(
    "--within",
    default="venue",
    show_default=True,
    metavar="FIELD",
    help="Compare papers of a year that share this field.",
)
@described_options(ForecastOptions)
@engine_options
def train(*, name: str, index: str | None, citations: str, within: str, as_json: bool, **options: Any) -> None:
    """Train a forecaster on the vectors and words of an index's papers; nothing is encoded."""
    library = open_library(options)
    given = given_of(ForecastOptions, options)
    forecaster, notes = library.forecasts.train(
        name, index or library.default().name, citations, within=within, **given
    )
    for note in notes:
        tell(note, err=True)
    _show(forecaster, as_json=as_json)


@forecasts.command(name="list")
@engine_options
def list_(*, as_json: bool, **options: Any) -> None:
    """List the forecasters."""
    library = open_library(options)
    found = [library.forecasts[name] for name in library.forecasts]
    lines = [f"{one.name}: {one.source}, from {one.made_from}" for one in found]
    document = [{"name": one.name, "vectors": str(one.source), "made_from": one.made_from} for one in found]
    say(
        {"forecasters": document},
        lines or ["No forecasters yet; train one with `ses forecasts train`."],
        as_json=as_json,
    )


@forecasts.command()
@click.argument("name")
@click.option("--index", metavar="NAME", help="The index to write forecasts into [default: the default index].")
@click.option(
    "--filter", "filters", multiple=True, metavar="EXPR", help="Papers to forecast [default: all]; repeatable."
)
@engine_options
def apply(*, name: str, index: str | None, filters: Sequence[str], as_json: bool, **options: Any) -> None:
    """Write forecasts into an index, in the fields NAME, NAME_low and NAME_high; nothing is encoded."""
    from products.forecasts.report import CAUTION
    from ses.terminal.progress import progress_on_stderr

    library = open_library(options)
    with progress_on_stderr() as progress:
        done = library.forecasts.apply(name, index or library.default().name, filter=filters, progress=progress)
    lines = [
        f"Index {done.index}: {done.papers:,} papers have a forecast in the field {name}; {done.written:,} changed, in "
        f"{done.seconds:.1f} s",
        CAUTION,
    ]
    say(done.to_dict(), lines, as_json=as_json)


@forecasts.command()
@click.argument("name")
@html_option
@engine_options
def report(*, name: str, html: Path | None, as_json: bool, **options: Any) -> None:
    """Show how well a forecaster does on the papers held out in training."""
    from eval.reports.report import gather_provenance
    from products.forecasts.report import forecaster_report

    forecaster = open_library(options).forecasts[name]
    if html:
        write_page(html, forecaster_report(forecaster, gather_provenance(settings={"vectors": str(forecaster.source)})))
    _show(forecaster, as_json=as_json)


def _show(forecaster: Forecaster, *, as_json: bool) -> None:
    from products.forecasts.report import CAUTION, forecaster_lines

    document = {
        "name": forecaster.name,
        "vectors": str(forecaster.source),
        "level": forecaster.level,
        "measures": asdict(forecaster.measures) if forecaster.measures else None,
        "caution": CAUTION,
    }
    by_year = forecaster.measures.by_year if forecaster.measures else ()
    years = ", ".join(f"{year} {share:.0%} of {count:,}" for year, share, count in by_year)
    lines = [*forecaster_lines(forecaster), *([f"By year: {years}"] if years else []), CAUTION]
    say(document, lines, as_json=as_json)
