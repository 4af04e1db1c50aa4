"""`ses eval compare`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import rich_click as click

from corpora.options import Option
from ses.terminal.commands.eval.collection import QRELS, DropSameId
from ses.terminal.commands.eval.sources import ReportFile
from ses.terminal.options import PATH, json_option, own_options
from ses.terminal.results import say_json

if TYPE_CHECKING:
    from eval.reports.report import TextTable


@click.command()
@click.argument("runs", nargs=-1, required=True, metavar="RUN RUN [RUN...]", type=PATH)
@own_options
@json_option
def compare(
    *,
    runs: tuple[Path, ...],
    qrels: Annotated[Path | None, QRELS] = None,
    data: Annotated[
        Path | None, Option("Folder in BEIR's form, instead of <qrels>; its texts are shown, and its ids checked")
    ] = None,
    split: Annotated[str, Option("Name of the judgments in <data>", "NAME")] = "test",
    measures: Annotated[Sequence[str], Option("Name of a measure, such as MAP", "NAME", flag="measure")] = ("nDCG@10",),
    top: Annotated[int, Option("Number of queries shown for each pair of runs", least=0)] = 10,
    drop_same_id: DropSameId = False,
    resamples: Annotated[int, Option("Draws for tests and intervals", "N", least=100, most=10_000_000)] = 10_000,
    seed: Annotated[int, Option("Seed of the draws", least=0)] = 0,
    report: ReportFile = None,
    as_json: bool,
) -> None:
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
    drawn: dict[str, Any] = {"resamples": resamples, "seed": seed, "drop_same_id": drop_same_id}
    comparison, judgments = compare_files(runs, measures, qrels=qrels, data=data, split=split, **drawn)
    if report:
        settings = {name: str(value) for name, value in drawn.items()}
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
