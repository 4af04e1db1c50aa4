"""`ses train`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import rich_click as click


@click.command()
@click.argument("recipe", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option(
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Folder of the run: states, log and model [default: named like the recipe, here].",
)
@click.option(
    "--data",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    metavar="DIR",
    help="Folder that the paths in the recipe are relative to [default: the recipe's].",
)
@click.option("--resume", is_flag=True, help="Go on with the run in that folder.")
@click.option("--minutes", type=click.FloatRange(min=0, min_open=True), help="Stop after this time; --resume goes on.")
@click.option(
    "--prepare", is_flag=True, help="Build and tokenise the data of the run only; the same command without it trains."
)
@click.option("--json", "as_json", is_flag=True, help="Print the result as one JSON document and nothing else.")
def train(
    *,
    recipe: Path,
    output: Path | None,
    data: Path | None,
    resume: bool,
    minutes: float | None,
    prepare: bool,
    as_json: bool,
) -> None:
    """Train a model as a recipe says (docs/training.md).

    RECIPE is a TOML file. The model is then in DIR/model, for every --model.
    """
    import orjson

    from training.recipe import read_recipe
    from training.train import prepare as run_prepare
    from training.train import train as run

    folder, say = output or Path(recipe.stem), _quiet if as_json else _say
    if prepare:
        _tell_prepared(run_prepare(read_recipe(recipe, data), folder, say=say), folder, as_json=as_json)
        return
    trained = run(read_recipe(recipe, data), folder, minutes=minutes, resume=resume, say=say)
    told: dict[str, Any] = {
        "model": str(trained.folder) if trained.folder else None,
        "steps": trained.steps,
        "total": trained.total,
        "chosen": trained.chosen,
        "measures": dict(trained.measures),
        "unusable": dict(trained.unusable),
    }
    if as_json:
        click.echo(orjson.dumps(told, option=orjson.OPT_INDENT_2))
        return
    for name, number in trained.unusable.items():
        if number:
            click.echo(f"{name}: {number} records gave no example")
    measures = ", ".join(f"{name} {value:.4f}" for name, value in trained.measures.items())
    if trained.folder:
        told_measures = f": {measures}" if measures else ""
        click.echo(f"The model is in {trained.folder} (step {trained.chosen} of {trained.steps}{told_measures}).")
    else:
        click.echo(f"Stopped after {trained.steps} of {trained.total} steps; add --resume to go on.")


def _quiet(told: Any) -> None:
    pass


def _tell_prepared(examples: Mapping[str, tuple[int, int]], folder: Path, *, as_json: bool) -> None:
    import orjson

    if as_json:
        told = {name: {"train": train, "validation": held} for name, (train, held) in examples.items()}
        click.echo(orjson.dumps(told, option=orjson.OPT_INDENT_2))
        return
    for name, (train, held) in examples.items():
        click.echo(f"{name}: {train:,} examples to train on, {held:,} to validate on")
    click.echo(f"The data of the run are in {folder}; train with: ses train {folder / 'recipe.json'} --output {folder}")


def _say(told: Any) -> None:
    if "built" in told:
        counts = {f"{part} records": count for part, count in told["records"].items()} | told["papers"]
        click.echo(f"{told['built']}: " + ", ".join(f"{name} {count:,}" for name, count in counts.items()), err=True)
        return
    if kept := told.get("states"):
        size, layers = f"{kept['bytes'] / 1e6:,.0f} MB", kept["layers"]
        click.echo(f"states of {kept['texts']:,} texts after {layers} layers: {size}", err=True)
        return
    measures = "".join(f", {name} {value:.4f}" for name, value in told.get("validation", {}).items())
    click.echo(f"step {told['step']}: loss {told['loss']:.4f}{measures}", err=True)
