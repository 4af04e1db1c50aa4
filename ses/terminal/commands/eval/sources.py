"""Options of commands that measure vectors, and what they print."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import rich_click as click

from corpora.options import Option
from ses.settings import load_settings
from ses.terminal.options import PATH, F, described_options, json_option, model_options, settings_of, together
from ses.terminal.results import say_json, tell, tell_tables

if TYPE_CHECKING:
    from eval.outcome import Outcome
    from ses.evaluation.vectors import VectorSource


def data_option(text: str) -> Callable[[F], F]:
    """Return a decorator that adds the required option `--data`, with its help."""
    return click.option("--data", required=True, type=PATH, help=text)


ReportFile = Annotated[Path | None, Option("File to write: .md, .html with plots, .tex or .json", flag="report")]
LabelField = Annotated[str, Option("Field with the label or the labels of a paper", "FIELD")]


def _reported(*, report_file: ReportFile = None) -> None:
    """Describe the option that `show` reads."""


output_options = together(model_options, described_options(_reported), json_option)
vector_options = together(
    click.option(
        "--embeddings",
        multiple=True,
        metavar="[FORMAT=]FILE",
        help="Vectors made before, such as clf=FILE for one task format; repeatable. Other formats are the model's.",
    ),
    output_options,
)


def vector_source(options: Mapping[str, Any]) -> VectorSource:
    """Return the source of vectors that a command's options choose; a report that can't be written is an error now."""
    from eval.reports.forms import check_report
    from ses.evaluation.vectors import vector_source as source_of

    if options.get("report_file"):
        check_report(options["report_file"])
    return source_of(options["embeddings"], load_settings(**settings_of(options)), model_named=bool(options["model"]))


def show(
    outcomes: Mapping[str, Outcome],
    sources: Sequence[VectorSource],
    about: Mapping[str, Any],
    heading: str,
    options: Mapping[str, Any],
) -> None:
    """Print outcomes as a table, or with facts about them as one JSON document; write a report if one is requested.

    The outcomes are by the label of their rows, and `heading` is the name of the column of labels. Paths among the
    facts are those of data, and `factors` has the source of each factor. The options of the command have those of
    `output_options` among them.
    """
    from eval.reports.results import Results
    from ses.evaluation.vectors import VectorResults

    found = VectorResults(Results(heading, outcomes, unit="what was measured"), sources, about)
    if options["report_file"]:
        found.write_report(options["report_file"], command_words())
    if options["as_json"]:
        say_json(found.to_dict())
        return
    tell_tables(found.results.table())
    for name, source in found.factors.items():
        tell(f"{name}: {source}")


def command_words() -> str:
    """Return the running command's words, such as `ses eval miread`."""
    context = click.get_current_context(silent=True)
    return context.command_path if context else "ses"
