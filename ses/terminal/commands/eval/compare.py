"""`ses eval compare`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import rich_click as click

from ses.terminal.options import PATH, json_option
from ses.terminal.results import say_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eval.reports.report import TextTable


@click.command()
@click.argument("runs", nargs=-1, required=True, metavar="RUN RUN [RUN...]", type=PATH)
@click.option("--qrels", type=PATH, help="File of judgments, in TREC's or BEIR's form.")
@click.option(
    "--data", type=PATH, help="Folder in BEIR's form, instead of --qrels; its texts are shown, and its ids checked."
)
@click.option("--split", default="test", show_default=True, help="Name of the judgments in --data.")
@click.option(
    "--measure",
    "measures",
    multiple=True,
    default=("nDCG@10",),
    show_default=True,
    help="Name of a measure, such as MAP; repeatable.",
)
@click.option(
    "--top",
    default=10,
    show_default=True,
    type=click.IntRange(min=0),
    help="Number of queries shown for each pair of runs.",
)
@click.option("--drop-same-id", is_flag=True, help="Leave out hits whose id is the query's.")
@click.option(
    "--resamples",
    default=10_000,
    show_default=True,
    type=click.IntRange(100, 10_000_000),
    help="Number of draws for tests and intervals.",
)
@click.option("--seed", default=0, show_default=True, type=click.IntRange(min=0), help="Seed of the draws.")
@click.option("--report", type=PATH, help="File to write: .md, .html with plots, .tex or .json.")
@json_option
def compare(*, runs: tuple[Path, ...], top: int, report: Path | None, as_json: bool, **options: Any) -> None:
    """Compare TREC run files: which queries changed, by how much, and whether this may be chance.

    The first run is the baseline of the others. The p-values are those of the paired randomization test and the
    paired bootstrap test, each also corrected by Holm for all pairs and measures compared.
    """
    from eval.reports.forms import check_report, write_report
    from eval.reports.report import gather_provenance
    from eval.reports.results import comparison_report, comparison_tables
    from ses.evaluation.measuring import compare_files

    if report:
        check_report(report)
    comparison, judgments = compare_files(runs, **options)
    if report:
        settings = {name: str(options[name]) for name in ("resamples", "seed", "drop_same_id")}
        provenance = gather_provenance(data=[*runs, *judgments], settings=settings)
        write_report(comparison_report(comparison, provenance, top=top), report)
    if as_json:
        say_json(comparison.as_dict())
    else:
        _print(comparison_tables(comparison, top=top))


def _print(tables: Sequence[TextTable]) -> None:
    from rich.console import Console

    from eval.reports.report import print_line, print_table

    console = Console()
    for position, table in enumerate(tables):
        print_line(f"{'' if position == 0 else chr(10)}{table.caption}", console)
        print_table(table, console)
