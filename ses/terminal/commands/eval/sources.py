"""Sources of a protocol's vectors: options of its command, and the sources that they choose."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import rich_click as click

from corpora.errors import InputError
from encoders.models.formats import Format
from ses.terminal.options import model_options
from ses.terminal.results import say_json

if TYPE_CHECKING:
    from encoders.models.card import ModelCard
    from encoders.models.formats import Similarity
    from encoders.models.model import Model
    from eval.embedder import Embedder, Text, Vectors
    from eval.outcome import Outcome
    from eval.reports.results import Results

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class VectorSource:
    """A source of vectors.

    Attributes:
        embed: Makes them; a model is loaded when it is first needed.
        files: Embedding files, by task format or `all`.
        card: Of the model, if there is one.
        runtime: Returns the model's runtime, after it has run.
    """

    embed: Embedder
    files: Mapping[str, Path]
    card: ModelCard | None = None
    runtime: Callable[[], str] = str

    @property
    def name(self) -> str:
        """The model's name, or the files'."""
        return self.card.name if self.card else ", ".join(map(str, self.files.values()))

    @property
    def similarity(self) -> Similarity | None:
        """How the model compares vectors; None where all come from files."""
        return self.card.similarity if self.card else None

    @property
    def told(self) -> dict[str, Any]:
        """Facts to show with the results."""
        model = {"model": self.card.name, "fingerprint": self.card.fingerprint} if self.card else {}
        return {"embeddings": {name: str(path) for name, path in self.files.items()}, **model}


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


def vector_source(options: Mapping[str, Any]) -> VectorSource:
    """Return the source of vectors that the options choose.

    Args:
        options: A command's, with those of `vector_options` among them; a report that can't be written is an error now.

    Returns:
        The source.

    Raises:
        InputError: If a file isn't one of embeddings, a format is unknown or named twice, or a model is named that
        would not be used. UnavailableError: If the model isn't there.
    """
    from encoders.registry import DEFAULT_MODEL, find_model
    from eval.embedder import by_file, by_format
    from eval.reports.registry import check_report
    from ses.settings import load_settings
    from ses.terminal.arguments import settings_of

    if options.get("report_file"):
        check_report(options["report_file"])
    files = _files(options["embeddings"])
    named = {str(task_format or "all"): path for task_format, path in files.items()}
    embedders = {task_format: by_file(_read(path)) for task_format, path in files.items()}
    if None in files:
        if options["model"]:
            raise InputError("With --embeddings FILE for all formats no model is needed: leave --model out.")
        default = embedders.pop(None)
        return VectorSource(by_format({name: one for name, one in embedders.items() if name}, default), named)
    made = model_source(find_model(load_settings(**settings_of(options)).model or DEFAULT_MODEL), options)
    by_name = {name: one for name, one in embedders.items() if name}
    return replace(made, embed=by_format(by_name, made.embed), files=named)


def model_source(model: Model, options: Mapping[str, Any]) -> VectorSource:
    """Return a model as a source of vectors; it is loaded when the first are asked for.

    Args:
        model: The model.
        options: Of the command, with those of models among them.

    Returns:
        The source.
    """
    from encoders.encoder import Encoder
    from eval.embedder import by_encoder
    from ses.loaded_model import make_encoder
    from ses.settings import load_settings
    from ses.terminal.arguments import settings_of

    settings = load_settings(**settings_of(options))
    encoder = functools.cache(functools.partial(make_encoder, settings, model))

    def encode(texts: Sequence[Text], task_format: Format) -> Vectors:
        return by_encoder(encoder())(texts, task_format)

    def runtime() -> str:
        made = encoder()
        return made.runtime if isinstance(made, Encoder) else settings.runtime or ""

    return VectorSource(encode, {}, model.card, runtime)


def show(
    outcomes: Mapping[str, Outcome],
    sources: Sequence[VectorSource],
    about: Mapping[str, Any],
    heading: str,
    options: Mapping[str, Any],
) -> None:
    """Print outcomes as a table, or with facts about them as one JSON document; write a report if one is requested.

    Args:
        outcomes: By the label of their rows.
        sources: Of the vectors.
        about: More facts; paths among the values are those of data, and `factors` has the source of each factor.
        heading: What the labels are.
        options: Of the command, with those of `output_options` among them.
    """
    from rich.console import Console

    from eval.reports.results import Results
    from eval.reports.tables import print_line, print_table

    results = Results(heading, outcomes, unit="what was measured")
    if options["report_file"]:
        write_results(results, sources, about, options["report_file"])
    if options["as_json"]:
        units = {label: outcome.per_unit for label, outcome in outcomes.items()}
        told = {**told_of(sources, about), **results.as_dict(), "per_unit": units}
        say_json(told)
        return
    console = Console()
    print_table(results.table(), console)
    for name, told in about.get("factors", {}).items():
        print_line(f"{name}: {_sentence(told)}", console)


def told_of(sources: Sequence[VectorSource], about: Mapping[str, Any]) -> dict[str, Any]:
    """Return facts to show with results, as JSON values; with several sources, only their names."""
    plain = {name: str(value) if isinstance(value, Path) else value for name, value in about.items()}
    return {**plain, **(sources[0].told if len(sources) == 1 else {"vectors": [source.name for source in sources]})}


def write_results(results: Results, sources: Sequence[VectorSource], about: Mapping[str, Any], file: Path) -> None:
    """Write results as a report, with the facts about them."""
    from eval.reports.provenance import gather_provenance
    from eval.reports.registry import write_report
    from eval.reports.results import results_report

    data = [value for value in about.values() if isinstance(value, Path)]
    provenance = gather_provenance(
        data=dict.fromkeys([*data, *(path for source in sources for path in source.files.values())]),
        cards=[source.card for source in sources if source.card],
        runtime=", ".join(dict.fromkeys(filter(None, (source.runtime() for source in sources)))),
        settings=_settings(about),
    )
    title = f"{_command()} on {', '.join(path.name for path in data) or 'the hub'}"
    write_report(results_report(title, results, provenance), file)


def _settings(about: Mapping[str, Any]) -> dict[str, str]:
    factors = {f"factor {name}": _sentence(told) for name, told in about.get("factors", {}).items()}
    rest = {name: value for name, value in about.items() if name != "factors"}
    return {name: str(value) for name, value in rest.items() if value and not isinstance(value, Path)} | factors


def _sentence(told: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {value}" for name, value in told.items())


def _command() -> str:
    """Return the running command's words, such as `ses eval miread`."""
    context = click.get_current_context(silent=True)
    return context.command_path if context else "ses"


def _files(given: Sequence[str]) -> dict[Format | None, Path]:
    known = [task_format.value for task_format in Format]
    files: dict[Format | None, Path] = {}
    for text in given:
        name, equals, path = text.partition("=")
        task_format = Format(name) if equals and name in known else None
        if equals and task_format is None and not Path(text).exists():
            raise InputError(f"There is no format {name!r} and no file {text}; --embeddings takes {_taken(known)}.")
        if task_format in files:
            raise InputError(f"--embeddings names two files for {task_format or 'all formats'}; keep one of them.")
        files[task_format] = Path(path if task_format else text)
    return files


def _taken(known: Sequence[str]) -> str:
    return f"FILE, or {', '.join(f'{name}=FILE' for name in known)}"


def _read(path: Path) -> Any:
    from encoders.files.embeddings import read_embeddings

    return read_embeddings(path)
