"""`ses forecasts`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import rich_click as click

from products.forecasts.training import ForecastOptions
from ses.terminal.options import described_options, engine_options, given_of, open_library
from ses.terminal.results import say, tell

if TYPE_CHECKING:
    from products.forecasts.forecaster import Forecaster

_CAUTION = (
    "A forecast repeats the past: it favours topics, words and venues that were cited often, and says nothing of a "
    "paper's quality. Don't judge people or decide on single papers by it."
)


@click.group()
def forecasts() -> None:
    """Forecast citations from vectors, as percentile within field and year (docs/forecasts.md)."""


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
    """Train a forecaster on the vectors of an index; nothing is encoded."""
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
    from ses.terminal.progress import progress_on_stderr

    library = open_library(options)
    with progress_on_stderr() as progress:
        done = library.forecasts.apply(name, index or library.default().name, filter=filters, progress=progress)
    lines = [
        f"Index {done.index}: {done.papers:,} papers have a forecast in the field {name}; {done.written:,} changed, in "
        f"{done.seconds:.1f} s",
        _CAUTION,
    ]
    say(done.to_dict(), lines, as_json=as_json)


@forecasts.command()
@click.argument("name")
@engine_options
def report(*, name: str, as_json: bool, **options: Any) -> None:
    """Show how well a forecaster does on the papers held out in training."""
    _show(open_library(options).forecasts[name], as_json=as_json)


def _lines(forecaster: Forecaster) -> Iterator[str]:
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
        yield "By year: " + ", ".join(f"{year} {share:.0%} of {count:,}" for year, share, count in found.by_year)
    yield _CAUTION


def _show(forecaster: Forecaster, *, as_json: bool) -> None:
    from dataclasses import asdict

    document = {
        "name": forecaster.name,
        "vectors": str(forecaster.source),
        "level": forecaster.level,
        "measures": asdict(forecaster.measures) if forecaster.measures else None,
        "caution": _CAUTION,
    }
    say(document, list(_lines(forecaster)), as_json=as_json)
