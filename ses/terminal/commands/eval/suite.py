"""`ses eval suite`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import rich_click as click

from corpora.errors import InputError
from corpora.options import Option
from ses.settings import load_settings
from ses.terminal.commands.eval.sources import ReportFile
from ses.terminal.options import json_option, own_options, runtime_options
from ses.terminal.results import say_json, tell, tell_tables

if TYPE_CHECKING:
    from eval.suites.base import Found


@click.command()
@click.argument("name")
@click.option(
    "--manifest",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="A TOML file of entries for the suite offline, in place of its own.",
)
@own_options
@runtime_options
@json_option
def suite(
    *,
    name: str,
    data: Annotated[Path | None, Option("The folder of the suite's data; smoke needs none")] = None,
    manifest: Path | None,
    models: Annotated[
        Sequence[str], Option("A model to measure", "NAME", default_help="the default model", flag="model")
    ] = (),
    entry: Annotated[
        Sequence[str], Option("Run only the entries whose name contains this text", "TEXT", default_help="all")
    ] = (),
    report: ReportFile = None,
    as_json: bool,
    **flags: Any,
) -> None:
    """Run a suite of protocols: offline, on a folder of real data, or smoke, on a few made-up papers.

    Earlier results of the same model on the same data are taken from the cache. A row is an entry with its measure, a
    column is a system; BM25 has a result wherever words alone can do the task.
    """
    from eval.reports.forms import check_report
    from eval.suites.manifest import get_suite
    from ses.evaluation.suite import choose_entries, run_entries

    entries = choose_entries(get_suite(name, manifest), entry)
    if data is None and any(entry.files for entry in entries):
        raise InputError(f"Say where the data of the suite {name} is, with --data FOLDER.")
    if report:
        check_report(report)
    found = run_entries(name, entries, data, models, load_settings(**flags), _report)
    if report:
        found.write_report(report)
    if as_json:
        say_json(found.to_dict())
        return
    tell_tables(found.results.table())
    tell(f"{found.seconds:,.0f} s, without what was in the cache")


def _report(system: str, found: Found) -> None:
    took = "from the cache" if found.cached else f"{found.seconds:,.0f} s"
    tell(f"{system}: {found.entry.name}, {took}", err=True)
