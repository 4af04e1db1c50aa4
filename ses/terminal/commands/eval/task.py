"""`ses eval task`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import rich_click as click

from corpora.errors import InputError, SesError
from corpora.options import Option
from encoders.models.formats import Format
from ses.terminal.commands.eval.sources import command_words, vector_options, vector_source
from ses.terminal.messages import message_of
from ses.terminal.options import PATH, own_options
from ses.terminal.results import say_json, tell, tell_tables

if TYPE_CHECKING:
    from eval.scirepeval.protocols import TaskResult
    from eval.scirepeval.task_file import Task, Use
    from ses.evaluation.vectors import VectorSource


_USES: Mapping[Use, str] = {
    "loaded": "vectors loaded from {}, as the task file says",
    "saved": "vectors saved as {}, as the task file says",
    "not_loaded": "--embeddings goes before {}, which the task file says to load",
    "not_saved": "{} was not written, since vectors that come from files aren't saved again",
}


@click.command()
@click.argument("file", type=PATH)
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option(
    "--data",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    metavar="DIR",
    help="Folder of local data, with a folder for each configuration that the task file names "
    "[default: the Hugging Face hub].",
)
@own_options
@vector_options
@click.pass_context
def task(
    context: click.RichContext,
    /,
    *,
    file: Path,
    names: tuple[str, ...],
    data: Path | None,
    figures: Annotated[
        Sequence[str],
        Option(
            "Figure from 0 to 1 of a task that another program measured, such as S2AND=0.93; it joins the averages",
            "TASK=NUMBER",
            flag="figure",
        ),
    ] = (),
    **options: Any,
) -> None:
    """Run tasks of SciRepEval's task FILE: those NAMEd, or all whose data exist.

    Papers are embedded in the format of each task: CLF, RGN, PRX, or QRY and PRX for search. In DIR/CONFIG, or
    DIR/scirepeval/CONFIG and DIR/scirepeval_test/CONFIG, are metadata.jsonl, and train.csv and test.csv or
    test_qrel.jsonl; the hub's own names and Parquet files do too, as `hf download` leaves them in DIR/scirepeval and
    DIR/scirepeval_test.

    Files that the task file names under "embeddings" are loaded and saved; --embeddings takes precedence over them.

    Measures are printed from 0 to 1, with 95 % confidence intervals over queries or test papers (for few-shot means,
    over runs). The averages of the paper follow, beside the published ones. The exit code is 1 if a task was not run.
    """
    from eval.scirepeval.protocols import TaskResult, run_tasks
    from eval.scirepeval.task_file import choose_tasks, read_tasks

    chosen = choose_tasks(read_tasks(file), names)
    elsewhere = _figures(figures, chosen)
    source = vector_source(options)
    results: list[TaskResult] = []
    failed: dict[str, SesError] = {}
    for one, found in run_tasks(chosen, data, source.embed, _separator(chosen, source), _given(source)):
        tell(f"{one.name}: {'done' if isinstance(found, TaskResult) else 'not run'}", err=True)
        if isinstance(found, TaskResult):
            results.append(found)
        else:
            failed[one.name] = found
    if not results:
        raise next(iter(failed.values()))
    about = {"file": file, "data": data or "hub", **({"measured_elsewhere": elsewhere} if elsewhere else {})}
    _show(about, source, results, failed, elsewhere, options)
    context.exit(1 if failed else 0)


def _figures(given: Sequence[str], tasks: Sequence[Task]) -> dict[str, float]:
    """Return the figures of tasks that another program measured, or raise `InputError` where one can't be used."""
    from eval.scirepeval.average import checked_figures

    figures: dict[str, float] = {}
    for text in given:
        name, _, number = text.rpartition("=")
        try:
            figures[name] = float(number)
        except ValueError as error:
            raise InputError(f"--figure {text} has no number: write it as in --figure S2AND=0.93.") from error
    return checked_figures(figures, [task.name for task in tasks])


def _given(source: VectorSource) -> frozenset[Format]:
    """Return the formats whose vectors the command line has from files."""
    return frozenset(Format) if "all" in source.files else frozenset(map(Format, source.files))


def _separator(tasks: Sequence[Task], source: VectorSource) -> str:
    """Return the separator of a paper's fields; vectors from files don't need it."""
    return source.card.separator if source.card and any(len(one.fields) > 2 for one in tasks) else "[SEP]"


def _show(
    about: Mapping[str, Any],
    source: VectorSource,
    results: Sequence[TaskResult],
    failed: Mapping[str, SesError],
    elsewhere: Mapping[str, float],
    options: Mapping[str, Any],
) -> None:
    from eval.scirepeval.average import average, leaderboard, task_table
    from ses.evaluation.vectors import VectorResults

    averages = average(results, elsewhere)
    table, board = task_table(results), leaderboard(averages, source.name)
    solvers = {one.task.name: one.solver for one in results if one.solver}
    files = {one.task.name: one.files for one in results if one.files}
    reasons = {name: message_of(error) for name, error in failed.items()}
    if options["report_file"]:
        found = VectorResults(table, [source], {**about, "embedding_files": files})
        found.write_report(options["report_file"], command_words())
    if options["as_json"]:
        document = {
            **VectorResults(table, [source], about).to_dict(),
            "solvers": solvers,
            "embedding_files": files,
            "not_run": reasons,
            "averages": {"groups": averages.groups, "formats": averages.formats, "missing": averages.missing},
            "leaderboard": board.as_dict()["rows"],
        }
        say_json(document)
        return
    tell_tables(table.table())
    for solver in dict.fromkeys(solvers.values()):
        tell(f"{', '.join(name for name, used in solvers.items() if used == solver)}: probes by {solver}")
    for name, used in files.items():
        for use, path in used.items():
            tell(f"{name}: {_USES[use].format(path)}")
    for name, reason in reasons.items():
        tell(f"{name} was not run: {reason}")
    if averages.groups:
        tell()
        tell_tables(board.table())
        if averages.missing:
            tell(f"The paper's averages have these tasks too: {', '.join(averages.missing)}.")
