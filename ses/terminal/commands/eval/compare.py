"""`ses eval compare`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import rich_click as click

from corpora.errors import InputError, require
from ses.terminal.results import say_json

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eval.statistics.compare import Comparison
    from eval.trec.runs import Run


@click.command()
@click.argument("runs", nargs=-1, required=True, metavar="RUN RUN [RUN...]", type=click.Path(path_type=Path))
@click.option("--qrels", type=click.Path(path_type=Path), help="Judgments in TREC's or BEIR's form.")
@click.option(
    "--data", type=click.Path(path_type=Path), help="Instead, a folder in BEIR's form; shows texts, checks ids."
)
@click.option("--split", default="test", show_default=True, help="Which judgments of --data.")
@click.option(
    "--measure", "measures", multiple=True, default=("nDCG@10",), show_default=True, help="Such as MAP. Repeatable."
)
@click.option(
    "--top", default=10, show_default=True, type=click.IntRange(min=0), help="Queries shown of each pair of runs."
)
@click.option("--drop-same-id", is_flag=True, help="Leave out hits whose id is the query's.")
@click.option(
    "--resamples",
    default=10_000,
    show_default=True,
    type=click.IntRange(100, 10_000_000),
    help="Draws of tests and intervals.",
)
@click.option("--seed", default=0, show_default=True, type=click.IntRange(min=0), help="Of the draws.")
@click.option("--report", type=click.Path(path_type=Path), help="File to write: .md, .html with plots, .tex or .json.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document and nothing else.")
def compare(
    runs: tuple[Path, ...],
    top: int,
    report: Path | None,
    as_json: bool,  # noqa: FBT001 - click passes flags so
    **options: Any,
) -> None:
    """Compare TREC run files: which queries changed, by how much, and whether this may be chance.

    The first run is the baseline of the others. The p-values are those of the paired randomization test and the
    paired bootstrap test, each also corrected by Holm for all pairs and measures compared.
    """
    from eval.reports.comparison import comparison_report
    from eval.reports.provenance import gather_provenance
    from eval.reports.registry import check_report, write_report

    if report:
        check_report(report)
    if len(runs) < 2:
        raise InputError("Give two run files or more to compare.")
    comparison, judgments = _compared(runs, options)
    if report:
        settings = {name: str(options[name]) for name in ("resamples", "seed", "drop_same_id")}
        provenance = gather_provenance(data=[*runs, *judgments], settings=settings)
        write_report(comparison_report(comparison, provenance, top=top), report)
    if as_json:
        say_json(comparison.as_dict())
    else:
        _print(comparison, top)


def _compared(paths: Sequence[Path], options: dict[str, Any]) -> tuple[Comparison, list[Path]]:
    """Read everything and compare; also return the files that the judgments came from."""
    from eval.measures.metrics import parse_measure
    from eval.retrieval.beir import BeirFolder
    from eval.statistics.compare import compare_runs
    from eval.trec.judgments import read_qrels

    data, qrels_path = options["data"], options["qrels"]
    require((data is None) != (qrels_path is None), "Give the judgments either as --qrels FILE or as --data FOLDER.")
    for measure in options["measures"]:
        parse_measure(measure)
    texts, ids = None, None
    if data is None:
        files, qrels = [qrels_path], read_qrels(qrels_path)
    else:
        folder = BeirFolder(data)
        qrels, texts, ids = folder.qrels(options["split"]), folder.queries(), _ids(folder.corpus)
        files = [*folder.files(options["split"])]
    told = {name: options[name] for name in ("drop_same_id", "resamples", "seed")}
    measures = options["measures"]
    return compare_runs(_read(paths), qrels, measures, texts=texts, corpus_ids=ids, **told), files


def _read(paths: Sequence[Path]) -> dict[str, Run]:
    """Read runs by the names of their files, or by their paths where names are the same."""
    from corpora.outgoing import in_a_line
    from eval.trec.runs import read_run

    stems = [path.stem for path in paths]
    labels = [in_a_line(path.stem if stems.count(path.stem) == 1 else str(path)) for path in paths]
    if len(set(labels)) < len(labels):
        raise InputError("A run file is given twice; give each once.")
    return {label: read_run(path) for label, path in zip(labels, paths, strict=True)}


def _ids(corpus: Path) -> Iterator[str]:
    """Yield the ids of a BEIR corpus, also of documents that can't be read as papers."""
    from corpora.json_objects import JsonObject, read_lines
    from corpora.opening import open_binary

    with open_binary(corpus) as stream:
        for record in read_lines(stream):
            if isinstance(record, JsonObject):
                yield str(record.members.get("_id"))


def _print(comparison: Comparison, top: int) -> None:
    from rich.console import Console

    from eval.reports.comparison import comparison_tables
    from eval.reports.tables import print_line, print_table

    console = Console()
    for position, table in enumerate(comparison_tables(comparison, top=top)):
        print_line(f"{'' if position == 0 else chr(10)}{table.caption}", console)
        print_table(table, console)
