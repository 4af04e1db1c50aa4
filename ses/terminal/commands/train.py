"""`ses train`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rich_click as click

from corpora.errors import InputError, require
from corpora.outgoing import aligned
from ses.terminal.options import PATH, engine_option, open_library
from ses.terminal.results import say as say_result
from ses.terminal.results import say_json, tell

if TYPE_CHECKING:
    from ses.library import Library
    from training.own.queries import OwnQueries
    from training.own.run import OwnFormat
    from training.recipe import Recipe
    from training.table_recipe import TableRecipe
    from training.train import Trained


@click.command()
@click.argument("recipe", type=click.Path(path_type=Path, exists=True, dir_okay=False), required=False)
@click.option("--from-index", metavar="NAME", help="Train a format by the papers of this index, without a recipe.")
@click.option("--labels", metavar="FIELD", help="With --from-index: the field of labels or numbers to learn from.")
@click.option(
    "--from-queries",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    nargs=2,
    metavar="QUERIES QRELS",
    help="With --from-index: train its queries by these judged queries; papers keep their vectors.",
)
@click.option(
    "--format",
    "task_format",
    type=click.Choice(("clf", "rgn")),
    help="With --from-index: the format to train [default: clf by labels, rgn by numbers].",
)
@click.option(
    "--output",
    type=PATH,
    metavar="DIR",
    help="Folder of the run: states, log and model [default: named like the recipe, or the index and the field, here].",
)
@click.option(
    "--data",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    metavar="DIR",
    help="Folder that the paths in the recipe are relative to [default: the recipe's].",
)
@click.option("--variant", multiple=True, metavar="NAME", help="Train this variant of the recipe only; repeatable.")
@click.option("--resume", is_flag=True, help="Resume the run in that folder.")
@click.option(
    "--minutes",
    type=click.FloatRange(min=0, min_open=True),
    help="Time limit; --resume continues the run. With --from-index, the time that all of it may take [default: 20].",
)
@click.option(
    "--prepare", is_flag=True, help="Build and tokenise the data of the run only; the same command without it trains."
)
@click.option(
    "--query-table",
    is_flag=True,
    help="With --from-index: train a table that encodes queries without a network, in place of the index's model.",
)
@click.option("--model", metavar="NAME", help="The model that a table for queries stands in for.")
@engine_option
@click.option("--json", "as_json", is_flag=True, help="Print the result as one JSON document and nothing else.")
def train(
    *,
    recipe: Path | None,
    from_index: str | None,
    labels: str | None,
    from_queries: tuple[Path, Path] | None,
    task_format: str | None,
    engine: str | None,
    output: Path | None,
    data: Path | None,
    variant: tuple[str, ...],
    resume: bool,
    minutes: float | None,
    prepare: bool,
    query_table: bool,
    model: str | None,
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
    others: dict[str, Any] = {
        "labels": labels,
        "from_queries": from_queries,
        "format": task_format,
        "variant": variant,
        "resume": resume,
        "minutes": minutes,
        "prepare": prepare,
    }
    if table := _asked_table(recipe, data, from_index, model, others, query_table=query_table):
        _train_table(table, output, open_library({"engine": engine}), as_json=as_json)
        return
    if from_index:
        unused: dict[str, Any] = {
            "recipe": recipe,
            "data": data,
            "variant": variant,
            "resume": resume,
            "prepare": prepare,
        }
        if given := next((name for name, value in unused.items() if value), ""):
            raise InputError("A format of an index gets a recipe of its own", f"leave <{given}> out")
        _train_from_index(
            from_index,
            output,
            minutes or _MINUTES,
            open_library({"engine": engine}),
            labels=labels,
            queries=from_queries,
            task_format=task_format or "",
            as_json=as_json,
        )
        return
    unused = {"labels": labels, "from_queries": from_queries, "format": task_format, "engine": engine}
    if given := next((name for name, value in unused.items() if value), ""):
        raise InputError("A recipe says what is learned from which data", f"leave <{given}> out, or name <from_index>")
    require(recipe, "Say what to train: name a RECIPE, or an index with --from-index NAME and --labels FIELD.")
    assert recipe is not None  # noqa: S101
    from ses.terminal.progress import training_progress
    from training.preparing import prepare as run_prepare
    from training.recipe import read_variants

    variants, folder = read_variants(recipe, variant, data), output or Path(recipe.stem)
    if prepare:
        examples = {}
        for name, one in variants.items():
            with training_progress(name, quiet=as_json) as say:
                examples[name] = run_prepare(one, folder / name, say=say)
        _show_prepared(examples, folder, as_json=as_json)
        return
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


_MINUTES = 20.0


@dataclass(frozen=True, slots=True)
class _AskedTable:
    """A table for queries that is to be trained: by a recipe, or by the papers of an index, for a model."""

    recipe: TableRecipe | None
    index: str
    model: str


def _asked_table(
    recipe: Path | None,
    data: Path | None,
    index: str | None,
    model: str | None,
    others: Mapping[str, Any],
    *,
    query_table: bool,
) -> _AskedTable | None:
    """Return the table that a command asks for, None if it asks for something else; `others` are its other options."""
    from training.table_recipe import read_table_recipe

    table = read_table_recipe(recipe, data) if recipe else None
    if not (table or query_table):
        require(not model, "Only a table for queries is trained for a model that is named", "leave <model> out")
        return None
    unused = {**others, **({"from_index": index} if table else {"recipe": recipe, "data": data})}
    if given := next((name for name, value in unused.items() if value), ""):
        raise InputError("A table for queries is trained in one go, of short texts", f"leave <{given}> out")
    require(table or index, "Say what a table learns from: name a RECIPE of one, or an index with --from-index.")
    return _AskedTable(table, index or "", model or (table.base if table else ""))


def _train_table(asked: _AskedTable, output: Path | None, library: Library, *, as_json: bool) -> None:
    """Train a table for queries by a recipe, or by the papers of an index, and print what it loses."""
    from encoders.registry import find_model
    from ses.terminal.progress import table_progress
    from training.query_table import TableSettings, texts_of, train_table
    from training.table_recipe import run_table_recipe

    recipe, opened = asked.recipe, None if asked.recipe else library[asked.index]
    chosen = asked.model or (opened.index.schema.model if opened else "")
    model = find_model(chosen)
    folder = (output or Path(f"{asked.index or 'query'}-table")) / "table"
    with table_progress(quiet=as_json) as say:
        encoder = library.formats.load(model)
        if recipe:
            worth = run_table_recipe(recipe, model, encoder, folder, say)
        else:
            settings, papers = TableSettings(), ((paper.title, paper.abstract) for paper in opened or ())
            texts = texts_of(papers, settings.texts, settings.seed)
            worth = train_table(encoder, model.folder, texts, folder, settings, say=say)
    lines = [
        f"Table for queries of {chosen}, learned from {worth.train:,} texts.",
        worth.sentence,
        f"It is in {folder}. To use it: ses search --model {folder}",
    ]
    say_result({"folder": str(folder), "model": chosen, **worth.to_dict()}, lines, as_json=as_json)


def _train_from_index(
    index: str,
    output: Path | None,
    minutes: float,
    library: Library,
    *,
    labels: str | None,
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
            document, lines = _of_queries(index, found)
        else:
            own = library.formats.train(index, str(labels), folder, format=task_format, minutes=minutes, say=say)
            document, lines = _of_format(index, own)
            opened = library[index].index
            used = vectors_for(opened, own.format).format
            lines[1:1] = note_of_format(opened, own.format, used, asked=False)
    say_result(document, lines, as_json=as_json)


def _of_format(index: str, own: OwnFormat) -> tuple[dict[str, Any], list[str]]:
    """Return a trained format for JSON, and for people."""
    papers, worth = own.papers, own.worth
    kind = f"{worth.labels:,} labels" if worth.labels else "numbers"
    rows = [
        [name, *(f"{one:.3f}" for one in (score.mean, score.low, score.high))] for name, score in worth.scores.items()
    ]
    lines = [
        f"Format {own.format}: {kind} of the field {papers.field}, from {papers.train:,} papers of the index {index}; "
        f"{worth.test:,} others only measure",
        *_left_out(own),
        *aligned([["linear model", worth.measure, "from", "to"], *rows], text_columns=1),
        worth.sentence,
        f"The model is in {own.model} (step {own.trained.chosen:,} of {own.trained.steps:,}), its recipe beside it.",
        *([f"To use it: ses index --index {index} --fresh --own {own.format}={own.model}"] if worth.is_better else []),
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


def _of_queries(index: str, own: OwnQueries) -> tuple[dict[str, Any], list[str]]:
    """Return trained queries for JSON, and for people."""
    worth = own.worth
    rows = [
        [
            mode,
            f"{before:.3f}",
            f"{before + gain.mean:.3f}",
            *(f"{one:+.3f}" for one in (gain.mean, gain.low, gain.high)),
        ]
        for mode, gain in worth.gains.items()
        for before in [worth.before[mode]]
    ]
    lines = [
        f"Queries of the index {index}: {worth.train:,} to learn from; {worth.test:,} others only measure",
        *aligned([["search", "nDCG@10 before", "after", "gain", "from", "to"], *rows], text_columns=1),
        worth.sentence,
        f"The model that asks the index is in {own.model}, its recipe beside it.",
        *([f"To use it: ses search --index {index} --model {own.model}"] if worth.is_better else []),
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


def _show_prepared(examples: Mapping[str, Mapping[str, tuple[int, int]]], folder: Path, *, as_json: bool) -> None:
    """Print the numbers of training and validation examples, by variant and task."""
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
