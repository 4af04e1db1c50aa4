"""Where the vectors of a protocol come from: options of its command, and what they make."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import rich_click as click

from corpora.errors import InputError
from encoders.formats import Format
from ses.options import model_options

if TYPE_CHECKING:
    from encoders.card import ModelCard, Similarity
    from eval.embedder import Embedder, Text, Vectors
    from eval.outcome import Outcome
    from eval.reports.report import Report

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Source:
    """Where vectors come from.

    Attributes:
        embed: Makes them; a model is loaded when it is first needed.
        similarity: How the model compares them; None where all come from files.
        told: What to name beside the results.
        card: Of the model, if there is one.
    """

    embed: Embedder
    similarity: Similarity | None
    told: Mapping[str, Any]
    card: ModelCard | None

    @property
    def name(self) -> str:
        """The model's name, or the files'."""
        return self.card.name if self.card else ", ".join(self.told["embeddings"].values())


def vector_options(function: F) -> F:
    """Add --embeddings and what `output_options` adds."""
    embeddings = click.option(
        "--embeddings",
        multiple=True,
        metavar="[FORMAT=]FILE",
        help="Vectors made before, such as clf=FILE for one task format; repeatable. Other formats are the model's.",
    )
    return embeddings(output_options(function))


def output_options(function: F) -> F:
    """Add the options of models, --report and --json."""
    report = click.option(
        "--report", "report_file", type=click.Path(path_type=Path), help="Write a report: .md, .html, .tex or .json."
    )
    json = click.option("--json", "as_json", is_flag=True, help="Print one JSON document and nothing else.")
    return model_options(report(json(function)))


def vector_source(options: Mapping[str, Any]) -> Source:
    """Return where the vectors come from.

    Args:
        options: A command's, with those of `vector_options` among them; a report that can't be written is told now.

    Returns:
        The source.

    Raises:
        InputError: If a file isn't one of embeddings, a format is unknown or named twice, or a model is named that
            nothing would come from.
        UnavailableError: If the model isn't there.
    """
    from encoders.registry import DEFAULT_MODEL, find_model
    from eval.embedder import by_encoder, by_file, by_format
    from eval.reports.registry import check_report
    from ses.settings import load_settings
    from ses.wiring import make_encoder, settings_of

    if options.get("report_file"):
        check_report(options["report_file"])
    files = _files(options["embeddings"])
    embedders = {task_format: by_file(_read(path)) for task_format, path in files.items()}
    told: dict[str, Any] = {"embeddings": {str(task_format or "all"): str(path) for task_format, path in files.items()}}
    if None in files:
        if options["model"]:
            raise InputError("With --embeddings FILE for all formats no model is needed: leave --model out.")
        default = embedders.pop(None)
        return Source(by_format({name: one for name, one in embedders.items() if name}, default), None, told, None)
    settings = load_settings(**settings_of(options))
    model = find_model(settings.model or DEFAULT_MODEL)
    encoder = functools.cache(functools.partial(make_encoder, settings, model))

    def encode(texts: Sequence[Text], task_format: Format) -> Vectors:
        return by_encoder(encoder())(texts, task_format)

    told |= {"model": model.card.name, "fingerprint": model.card.fingerprint}
    by_name = {name: one for name, one in embedders.items() if name}
    return Source(by_format(by_name, encode), model.card.similarity, told, model.card)


def show(outcomes: Mapping[str, Outcome], told: Mapping[str, Any], heading: str, options: Mapping[str, Any]) -> None:
    """Print outcomes as a table, or as one JSON document with what is told of them; write a report if one is asked for.

    Args:
        outcomes: By the label of their rows.
        told: What was measured and by what.
        heading: What the labels are.
        options: Of the command, with those of `output_options` among them.
    """
    import orjson
    from rich.console import Console

    from eval.reports.report import Report, print_report

    report = Report(heading, tuple(outcome.row(label) for label, outcome in outcomes.items()), unit="what was measured")
    if options["report_file"]:
        write_table(report, outcomes, told, options["report_file"])
    if options["as_json"]:
        units = {label: outcome.per_unit for label, outcome in outcomes.items()}
        click.echo(orjson.dumps({**told, **report.as_dict(), "per_unit": units}, option=orjson.OPT_INDENT_2))
        return
    print_report(report, Console())


def write_table(report: Report, outcomes: Mapping[str, Outcome], told: Mapping[str, Any], file: Path) -> None:
    """Write a table of outcomes as a report, with what is told of them."""
    from eval.reports.provenance import gather_provenance
    from eval.reports.registry import write_report
    from eval.reports.results import results_document

    settings = {name: str(value) for name, value in told.items() if name != "data" and value}
    provenance = gather_provenance(data=[Path(told["data"])] if told.get("data") else [], settings=settings)
    values = {label: outcome.per_unit for label, outcome in outcomes.items() if outcome.per_unit}
    write_report(results_document(f"{report.heading}: {', '.join(outcomes)}", report, provenance, values=values), file)


def _files(given: Sequence[str]) -> dict[Format | None, Path]:
    known = [task_format.value for task_format in Format]
    files: dict[Format | None, Path] = {}
    for text in given:
        name, equals, path = text.partition("=")
        task_format = Format(name) if equals and name in known else None
        if task_format in files:
            raise InputError(f"--embeddings names two files for {task_format or 'all formats'}; keep one of them.")
        files[task_format] = Path(path if task_format else text)
    return files


def _read(path: Path) -> Any:
    from encoders.files.reading import read_embeddings

    return read_embeddings(path)
