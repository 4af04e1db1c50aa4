"""`ses train`."""

from __future__ import annotations

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
@click.option("--resume", is_flag=True, help="Go on with the run in that folder.")
@click.option("--minutes", type=click.FloatRange(min=0, min_open=True), help="Stop after this time; --resume goes on.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as one JSON document and nothing else.")
def train(*, recipe: Path, output: Path | None, resume: bool, minutes: float | None, as_json: bool) -> None:
    """Train a model as a recipe says (docs/training.md).

    RECIPE is a TOML file. The model is then in DIR/model, for every --model.
    """
    import orjson

    from training.recipe import read_recipe
    from training.train import train as run

    folder = output or Path(recipe.stem)
    trained = run(read_recipe(recipe), folder, minutes=minutes, resume=resume, say=_quiet if as_json else _say)
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


def _say(told: Any) -> None:
    measures = "".join(f", {name} {value:.4f}" for name, value in told.get("validation", {}).items())
    click.echo(f"step {told['step']}: loss {told['loss']:.4f}{measures}", err=True)
