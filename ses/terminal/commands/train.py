"""`ses train`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import rich_click as click

from corpora.errors import InputError, require
from corpora.options import Option
from corpora.outgoing import aligned
from ses.terminal.options import engine_options, first_given, open_library, own_options
from ses.terminal.results import say as say_result
from ses.terminal.results import say_json, tell

if TYPE_CHECKING:
    from ses.library import Library
    from training.own.queries import OwnQueries
    from training.own.run import OwnFormat
    from training.recipe import Recipe
    from training.table_recipe import TableRecipe
    from training.train import Trained


_FOLDER = click.Path(path_type=Path, exists=True, file_okay=False)
_FILE = click.Path(path_type=Path, exists=True, dir_okay=False)
_MINUTES = 20.0
"""How long training by the papers of an index may take where the user says nothing."""


@click.command()
@click.argument("recipe", type=_FILE, required=False)
@click.option(
    "--from-queries",
    type=_FILE,
    nargs=2,
    metavar="QUERIES QRELS",
    help="With --from-index: train its queries by these judged queries; papers keep their vectors.",
)
@click.option(
    "--data",
    type=_FOLDER,
    metavar="DIR",
    help="Folder that the paths in the recipe are relative to [default: the recipe's].",
)
@own_options
@engine_options
def train(
    *,
    recipe: Path | None,
    from_queries: tuple[Path, Path] | None,
    data: Path | None,
    from_index: Annotated[str, Option("Train a format by the papers of this index, without a recipe", "NAME")] = "",
    labels: Annotated[str, Option("With <from_index>: the field of labels or numbers to learn from", "FIELD")] = "",
    format: Annotated[  # noqa: A002 - the option's name
        Literal["clf", "rgn"] | None,
        Option("With <from_index>: the format to train", default_help="clf by labels, rgn by numbers"),
    ] = None,
    output: Annotated[
        Path | None,
        Option(
            "Folder of the run: states, log and model",
            "DIR",
            default_help="named like the recipe, or the index and the field, here",
        ),
    ] = None,
    variant: Annotated[Sequence[str], Option("Train this variant of the recipe only", "NAME")] = (),
    resume: Annotated[bool, Option("Resume the run in that folder")] = False,
    minutes: Annotated[
        float | None,
        Option(
            "Time limit; <resume> continues the run. With <from_index>, the time that all of it may take",
            default_help="20",
            above=0,
        ),
    ] = None,
    prepare: Annotated[
        bool, Option("Build and tokenise the data of the run only; the same command without it trains")
    ] = False,
    query_table: Annotated[
        bool,
        Option(
            "With <from_index>: train a table that encodes queries without a network, in place of the index's model"
        ),
    ] = False,
    model: Annotated[str, Option("The model that a table for queries stands in for", "NAME")] = "",
    engine: str | None,
    as_json: bool,
) -> None:
    """Train a model with a recipe, or a format by the papers of an index (docs/training.md).

    RECIPE is a TOML file. The model is written to DIR/model, which any --model option accepts. Each variant of a recipe
    has its own folder in DIR. Under torchrun, all processes train together.

    With --from-index and --labels, the papers of an index that have a value in a field are the data. The recipe is
    written to DIR, and a report says whether the format is better than a linear model on the index's own vectors.

    With --from-index and --from-queries, judged queries are the data: a file of topics, such as queries.jsonl of BEIR,
    and one of judgments of papers of the index. DIR/asking is a model that asks the index as it is.

    With --from-index and --query-table, titles and sentences of its papers are the data, and DIR/table is a table that
    stands in for the model where queries are encoded. recipes/query-table.toml makes one of files of papers.
    """
    from training.table_recipe import read_table_recipe

    learned = {"labels": labels, "from_queries": from_queries, "format": format}
    of_runs = {"variant": variant, "resume": resume, "prepare": prepare}
    table = read_table_recipe(recipe, data) if recipe else None
    if table or query_table:
        other_source = {"from_index": from_index} if table else {"recipe": recipe, "data": data}
        if unused := first_given({**learned, **of_runs, "minutes": minutes, **other_source}):
            raise InputError("A table for queries is trained in one go, of short texts", f"leave <{unused}> out")
        require(
            table or from_index, "Say what a table learns from: name a RECIPE of one, or an index with --from-index."
        )
        _train_table(table, from_index, model, output, open_library({"engine": engine}), as_json=as_json)
        return
    require(not model, "Only a table for queries is trained for a model that is named", "leave <model> out")
    if from_index:
        if unused := first_given({"recipe": recipe, "data": data, **of_runs}):
            raise InputError("A format of an index gets a recipe of its own", f"leave <{unused}> out")
        _train_from_index(
            from_index,
            output,
            minutes or _MINUTES,
            open_library({"engine": engine}),
            labels=labels,
            queries=from_queries,
            task_format=format or "",
            as_json=as_json,
        )
        return
    if unused := first_given({**learned, "engine": engine}):
        raise InputError("A recipe says what is learned from which data", f"leave <{unused}> out, or name <from_index>")
    if recipe is None:
        raise InputError("Say what to train: name a RECIPE, or an index with --from-index NAME and --labels FIELD.")
    from training.recipe import read_variants

    variants, folder = read_variants(recipe, variant, data), output or Path(recipe.stem)
    if prepare:
        _prepare_variants(variants, folder, as_json=as_json)
    else:
        _train_variants(variants, folder, minutes=minutes, resume=resume, as_json=as_json)


def _train_variants(
    variants: Mapping[str, Recipe], folder: Path, *, minutes: float | None, resume: bool, as_json: bool
) -> None:
    """Train the variants of a recipe, and print each result."""
    from ses.terminal.progress import training_progress
    from training.processes import joined
    from training.train import train_variants

    results: dict[str, Trained] = {}
    with joined() as processes:
        report = partial(training_progress, quiet=as_json or not processes.first)
        for name, trained in train_variants(
            variants, folder, minutes=minutes, resume=resume, report=report, processes=processes
        ):
            results[name] = trained
            if not as_json and processes.first:
                _show(name, variants[name], trained, folder / name)
    if as_json and processes.first:
        documents = {name: _as_dict(results.get(name)) for name in variants}
        say_json(documents.get("", {"variants": documents}))
    elif processes.first and "" not in variants:
        _show_variants({name: results.get(name) for name in variants})


def _train_table(
    recipe: TableRecipe | None, index: str, model: str, output: Path | None, library: Library, *, as_json: bool
) -> None:
    """Train a table for queries by a recipe, or by the papers of an index, and print what it loses.

    The table stands in for the model; if none is named, for that of the recipe or of the index.
    """
    from encoders.registry import find_model
    from ses.terminal.progress import table_progress
    from training.query_table import TableSettings, texts_of, train_table
    from training.table_recipe import run_table_recipe

    opened = None if recipe else library[index]
    chosen = model or (recipe.base if recipe else opened.index.schema.model if opened else "")
    found = find_model(chosen)
    folder = (output or Path(f"{index or 'query'}-table")) / "table"
    with table_progress(quiet=as_json) as say:
        encoder = library.formats.load(found)
        if recipe:
            loss = run_table_recipe(recipe, found, encoder, folder, say)
        else:
            settings, papers = TableSettings(), ((paper.title, paper.abstract) for paper in opened or ())
            texts = texts_of(papers, settings.texts, settings.seed)
            loss = train_table(encoder, found.folder, texts, folder, settings, say=say)
    lines = [
        f"Table for queries of {chosen}, learned from {loss.train:,} texts.",
        loss.sentence,
        f"It is in {folder}. To use it: ses search --model {folder}",
    ]
    say_result({"folder": str(folder), "model": chosen, **loss.to_dict()}, lines, as_json=as_json)


def _train_from_index(
    index: str,
    output: Path | None,
    minutes: float,
    library: Library,
    *,
    labels: str,
    queries: tuple[Path, Path] | None,
    task_format: str,
    as_json: bool,
) -> None:
    """Train a format by a field of an index, or its queries, and print whether the result is worth using."""
    from products.trained import vectors_for
    from ses.models.stored_vectors import note_of_format
    from ses.terminal.progress import training_progress

    require(
        not (queries and (labels or task_format)), "Judged queries train queries", "leave <labels> and <format> out"
    )
    require(queries or labels, "Say what to learn from, with --labels FIELD, or --from-queries QUERIES QRELS.")
    folder = output or Path(f"{index}-{labels or 'queries'}")
    with training_progress("", quiet=as_json) as say:
        if queries:
            found = library.formats.train_queries(index, *queries, folder, minutes=minutes, say=say)
            document, lines = _queries_result(index, found)
        else:
            own = library.formats.train(index, labels, folder, format=task_format, minutes=minutes, say=say)
            document, lines = _format_result(index, own)
            opened = library[index].index
            used = vectors_for(opened, own.format).format
            lines[1:1] = note_of_format(opened, own.format, used, asked=False)
    say_result(document, lines, as_json=as_json)


def _format_result(index: str, own: OwnFormat) -> tuple[dict[str, Any], list[str]]:
    """Return a trained format for JSON, and for people."""
    papers, compared = own.papers, own.worth
    kind = f"{compared.labels:,} labels" if compared.labels else "numbers"
    rows = [
        [name, f"{score.mean:.3f}", f"{score.low:.3f}", f"{score.high:.3f}"] for name, score in compared.scores.items()
    ]
    lines = [
        f"Format {own.format}: {kind} of the field {papers.field}, from {papers.train:,} papers of the index {index}; "
        f"{compared.test:,} others only measure",
        *_left_out(own),
        *aligned([["linear model", compared.measure, "from", "to"], *rows], text_columns=1),
        compared.sentence,
        f"The model is in {own.model} (step {own.trained.chosen:,} of {own.trained.steps:,}), its recipe beside it.",
        *(
            [f"To use it: ses index --index {index} --fresh --own {own.format}={own.model}"]
            if compared.is_better
            else []
        ),
    ]
    described = {"format": own.format.value, "papers": asdict(papers), "read": own.read, "runs": own.runs}
    return _document(own) | described, lines


def _left_out(own: OwnFormat) -> Iterator[str]:
    """Yield lines about papers that were not learned from, with the reason."""
    from training.own.papers import FEWEST

    papers = own.papers
    if papers.same:
        yield f"Papers left out, since the index holds their work twice: {papers.same:,}"
    if papers.evaluated:
        yield (
            f"Papers left out of those to learn from, since `ses eval suite` tests on them: {papers.evaluated:,}; so "
            "the suites can measure the new model"
        )
    if papers.rare:
        yield f"Papers left out, since fewer than {FEWEST} papers have any of their labels: {papers.rare:,}"
    if own.read < papers.train:
        yield (
            f"In the time, {own.read:,} of the {papers.train:,} papers were read, and all linear models learned from "
            "these. A tagger of `ses tags train` learns from all; with more --minutes the format does too."
        )


def _queries_result(index: str, own: OwnQueries) -> tuple[dict[str, Any], list[str]]:
    """Return trained queries for JSON, and for people."""
    compared, rows = own.worth, []
    for mode, gain in compared.gains.items():
        before = compared.before[mode]
        gained = (f"{one:+.3f}" for one in (gain.mean, gain.low, gain.high))
        rows.append([mode, f"{before:.3f}", f"{before + gain.mean:.3f}", *gained])
    lines = [
        f"Queries of the index {index}: {compared.train:,} to learn from; {compared.test:,} others only measure",
        *aligned([["search", "nDCG@10 before", "after", "gain", "from", "to"], *rows], text_columns=1),
        compared.sentence,
        f"The model that asks the index is in {own.model}, its recipe beside it.",
        *([f"To use it: ses search --index {index} --model {own.model}"] if compared.is_better else []),
    ]
    return _document(own), lines


def _document(own: OwnFormat | OwnQueries) -> dict[str, Any]:
    return {"model": str(own.model), "trained": _as_dict(own.trained), "worth": own.worth.to_dict()}


def _as_dict(trained: Trained | None) -> dict[str, Any] | None:
    """Return a result for JSON; None for a run that was not started."""
    if trained is None:
        return None
    return {
        "model": str(trained.folder) if trained.folder else None,
        "steps": trained.steps,
        "total": trained.total,
        "chosen": trained.chosen,
        "measures": dict(trained.measures),
        "unusable": dict(trained.unusable),
        "waiting": round(trained.waiting, 4),
        "plots": list(trained.plots),
    }


def _show(name: str, recipe: Recipe, trained: Trained, folder: Path) -> None:
    """Print the result of a run; the name of its variant may be empty."""
    from training.log import read_log
    from training.objectives import OBJECTIVES

    prefix = f"{name}: " if name else ""
    for task, number in trained.unusable.items():
        if number:
            tell(f"{prefix}{task}: {number:,} records gave no example")
    found = {entry["step"]: entry["validation"] for entry in read_log(folder) if entry.get("validation")}
    if found:
        marks = {min(found): "first", max(found): "last", trained.chosen: "chosen"}
        steps = sorted(step for step in marks if step in found)
        rows = [
            [task.name, OBJECTIVES[task.objective].measure, *(f"{found[step][task.name]:.4f}" for step in steps)]
            for task in recipe.tasks
            if task.name in found[trained.chosen]
        ]
        head = ["validation", "measure", *(f"step {step:,} ({marks[step]})" for step in steps)]
        for line in aligned([head, *rows]):
            tell(line)
    tell(f"{prefix}Waiting for data took {trained.waiting:.1%} of the time.")
    plots = " and ".join(trained.plots)
    drawn = f", drawn in {plots}." if plots else "; they are not drawn without matplotlib."
    tell(f"{prefix}Losses by step are in {folder / 'log.jsonl'}{drawn}")
    if trained.folder:
        tell(f"{prefix}The model is in {trained.folder} (step {trained.chosen:,} of {trained.steps:,}).")
    else:
        tell(f"{prefix}Stopped after {trained.steps:,} of {trained.total:,} steps; add --resume to go on.")


def _prepare_variants(variants: Mapping[str, Recipe], folder: Path, *, as_json: bool) -> None:
    """Build the data of the variants, and print the numbers of training and validation examples by task."""
    from ses.terminal.progress import training_progress
    from training.preparing import prepare

    examples: dict[str, Mapping[str, tuple[int, int]]] = {}
    for name, one in variants.items():
        with training_progress(name, quiet=as_json) as say:
            examples[name] = prepare(one, folder / name, say=say)
    if as_json:
        documents = {
            name: {task: {"train": train, "validation": held} for task, (train, held) in tasks.items()}
            for name, tasks in examples.items()
        }
        say_json(documents.get("", {"variants": documents}))
        return
    for name, tasks in examples.items():
        for task, (train, held) in tasks.items():
            prefix = f"{name}: {task}" if name else task
            tell(f"{prefix}: {train:,} examples for training, {held:,} for validation")
        place = folder / name
        tell(f"The data of the run are in {place}; train with: ses train {place / 'recipe.json'} --output {place}")


def _show_variants(results: Mapping[str, Trained | None]) -> None:
    """Print the validation measures of all variants, one per line, or the progress of unfinished ones."""
    tasks = list(dict.fromkeys(task for result in results.values() if result for task in result.measures))
    rows = []
    for name, result in results.items():
        if result is None or result.folder is None:
            done = f"{result.steps:,} of {result.total:,} steps" if result else "not started"
            rows.append([name, f"{done}; add --resume"])
        else:
            measures = (result.measures.get(task) for task in tasks)
            rows.append([name, f"step {result.chosen:,}", *("" if one is None else f"{one:.4f}" for one in measures)])
    tell()
    for line in aligned([["variant", "", *tasks], *rows]):
        tell(line)
