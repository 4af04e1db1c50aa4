"""`ses train`."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click

from ses.terminal.results import say_json

if TYPE_CHECKING:
    from training.train import Trained


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
    from ses.terminal.steps import training_progress
    from ses.terminal.training_results import as_dict, show, show_prepared, show_variants
    from training.preparing import prepare as run_prepare
    from training.processes import joined
    from training.recipe import read_variants
    from training.train import train_variants

    variants, folder = read_variants(recipe, variant, data), output or Path(recipe.stem)
    if prepare:
        examples = {}
        for name, one in variants.items():
            with training_progress(name, quiet=as_json) as say:
                examples[name] = run_prepare(one, folder / name, say=say)
        show_prepared(examples, folder, as_json=as_json)
        return
    results: dict[str, Trained] = {}
    with joined() as processes:
        report = partial(training_progress, quiet=as_json or not processes.first)
        for name, trained in train_variants(
            variants, folder, minutes=minutes, resume=resume, report=report, processes=processes
        ):
            results[name] = trained
            if not as_json and processes.first:
                show(name, variants[name], trained, folder / name)
    if as_json and processes.first:
        documents = {name: as_dict(results.get(name)) for name in variants}
        say_json(documents.get("", {"variants": documents}))
    elif processes.first and "" not in variants:
        show_variants({name: results.get(name) for name in variants})
