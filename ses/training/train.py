"""Training, started by a Python program."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corpora.errors import InputError
from ses.argument_validation import checked

if TYPE_CHECKING:
    from training.train import Trained


@checked
def train(
    recipe: str | Path,
    folder: str | Path,
    *,
    data: str | Path | None = None,
    variant: str | None = None,
    minutes: float | None = None,
    resume: bool = False,
    say: Callable[[Mapping[str, Any]], None] = lambda _: None,
) -> Trained:
    """Train a model with a recipe (docs/training.md).

    Args:
        recipe: A TOML file of one recipe, or of variants.
        folder: Folder of the run: states, log and model. Each variant has its own folder in it.
        data: Folder that the paths in the recipe are relative to; the recipe's own if None.
        variant: Name of the variant to train, where a recipe has several.
        minutes: Time limit.
        resume: Resume the run in the folder.
        say: Receives a report of each step.

    Returns:
        The result; its `folder` is the model's, for `load_model`.

    Raises:
        InputError: If the recipe or the data can't be used, or a variant must be chosen.
        UnavailableError: If the memory or the disk is full, or torch is not installed.
    """
    from training.processes import joined
    from training.recipe import read_variants
    from training.train import train_variants

    variants = read_variants(Path(recipe), (variant,) if variant else (), Path(data) if data else None)
    if len(variants) > 1:
        raise InputError(f"The recipe {recipe} has the variants {', '.join(variants)}", "choose one with <variant>")
    with joined() as processes:
        ((_, trained),) = train_variants(
            variants,
            Path(folder),
            minutes=minutes,
            resume=resume,
            report=lambda _: nullcontext(say),
            processes=processes,
        )
    return trained
