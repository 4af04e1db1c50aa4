"""`ses eval suite`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rich_click as click

from corpora.errors import InputError
from ses.settings import load_settings
from ses.terminal.options import PATH, json_option, runtime_options
from ses.terminal.results import say_json, tell

if TYPE_CHECKING:
    from eval.suites.base import Found


@click.command()
@click.argument("name")
@click.option("--data", type=PATH, help="The folder of the suite's data; smoke needs none.")
@click.option(
    "--manifest",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="A TOML file of entries for the suite offline, in place of its own.",
)
@click.option(
    "--model",
    "models",
    multiple=True,
    metavar="NAME",
    help="A model to measure; repeatable [default: the default model].",
)
@click.option(
    "--entry",
    "parts",
    multiple=True,
    metavar="TEXT",
    help="Run only the entries whose name contains this text; repeatable [default: all].",
)
@runtime_options
@click.option("--report", "file", type=PATH, help="Write a report: .md, .html, .tex or .json.")
@json_option
def suite(
    *,
    name: str,
    data: Path | None,
    manifest: Path | None,
    models: Sequence[str],
    parts: Sequence[str],
    file: Path | None,
    as_json: bool,
    **flags: Any,
) -> None:
    """Run a suite of protocols: offline, on a folder of real data, or smoke, on a few made-up papers.

    Earlier results of the same model on the same data are taken from the cache. A row is an entry with its measure, a
    column is a system; BM25 has a result wherever words alone can do the task.
    """
    from rich.console import Console

    from eval.reports.forms import check_report
    from eval.reports.report import print_table
    from eval.suites.manifest import get_suite
    from ses.evaluation.suite import choose_entries, run_entries

    entries = choose_entries(get_suite(name, manifest), parts)
    if data is None and any(entry.files for entry in entries):
        raise InputError(f"Say where the data of the suite {name} is, with --data FOLDER.")
    if file:
        check_report(file)
    found = run_entries(name, entries, data, models, load_settings(**flags), _report)
    if file:
        found.write_report(file)
    if as_json:
        say_json(found.to_dict())
        return
    print_table(found.results.table(), Console())
    tell(f"{found.seconds:,.0f} s, without what was in the cache")


def _report(system: str, found: Found) -> None:
    took = "from the cache" if found.cached else f"{found.seconds:,.0f} s"
    tell(f"{system}: {found.entry.name}, {took}", err=True)
