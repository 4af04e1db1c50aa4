"""`ses train`."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click

from ses.terminal.results import say_json

if TYPE_CHECKING:
    from training.train import Trained

_SECOND = 1 / 60  # in minutes: with less time left, no other variant is started


@click.command()
@click.argument("recipe", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option(
    "--output",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Folder of the run: states, log and model [default: named like the recipe, here].",
)
@click.option(
    "--data",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    metavar="DIR",
    help="Folder that the paths in the recipe are relative to [default: the recipe's].",
)
@click.option("--variant", multiple=True, metavar="NAME", help="Train this variant of the recipe only; repeatable.")
@click.option("--resume", is_flag=True, help="Resume the run in that folder.")
@click.option("--minutes", type=click.FloatRange(min=0, min_open=True), help="Time limit; --resume continues the run.")
@click.option(
    "--prepare", is_flag=True, help="Build and tokenise the data of the run only; the same command without it trains."
)
@click.option("--json", "as_json", is_flag=True, help="Print the result as one JSON document and nothing else.")
def train(
    *,
    recipe: Path,
    output: Path | None,
    data: Path | None,
    variant: tuple[str, ...],
    resume: bool,
    minutes: float | None,
    prepare: bool,
    as_json: bool,
) -> None:
    """Train a model with a recipe (docs/training.md).

    RECIPE is a TOML file. The model is written to DIR/model, which any --model option accepts. Each variant of a recipe
    has its own folder in DIR. Under torchrun, all processes train together.
    """
    from ses.terminal.steps import telling
    from ses.terminal.training_results import as_dict, show, show_prepared, show_variants
    from training.preparing import prepare as run_prepare
    from training.processes import joined
    from training.train import train as run
    from training.variants import read_variants, started

    variants, folder = read_variants(recipe, variant, data), output or Path(recipe.stem)
    until = time.monotonic() + 60 * minutes if minutes else None
    if prepare:
        examples = {}
        for name, one in variants.items():
            with telling(name, quiet=as_json) as say:
                examples[name] = run_prepare(started(one, folder), folder / name, say=say)
        show_prepared(examples, folder, as_json=as_json)
        return
    results: dict[str, Trained] = {}
    with joined() as processes:
        for name, one in variants.items():
            left = max((until - time.monotonic()) / 60, 1e-9) if until else None
            if results and left and left < _SECOND:
                break
            with telling(name, quiet=as_json or not processes.first) as say:
                results[name] = run(
                    started(one, folder), folder / name, minutes=left, resume=resume, say=say, processes=processes
                )
            if not as_json and processes.first:
                show(name, one, results[name], folder / name)
    if as_json and processes.first:
        told = {name: as_dict(results.get(name)) for name in variants}
        say_json(told.get("", {"variants": told}))
    elif processes.first and "" not in variants:
        show_variants({name: results.get(name) for name in variants})
