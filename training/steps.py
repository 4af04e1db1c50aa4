"""The steps of a run: each depends on the seed, its number and the weights alone."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count, islice
from pathlib import Path
from typing import Any

from corpora.errors import InputError, UnavailableError
from training import checkpoints
from training.batches import batches_an_epoch, examples_of
from training.checkpoints import Progress
from training.data.packed import Packed
from training.learner import Learner
from training.recipe import Recipe
from training.samplers.base import Item
from training.schedules import SCHEDULES, warmup_steps
from training.validation import validate

LOG = "log.jsonl"

_SEEDS_APART = 1_000_003
"""More batches than a run has, so that runs with neighbouring seeds draw differently."""


@dataclass(frozen=True, slots=True)
class Data:
    """The examples of every task.

    Attributes:
        train: To learn from.
        validation: Held out, where a task has some.
    """

    train: tuple[Packed, ...]
    validation: tuple[Packed | None, ...]


def run_steps(
    learner: Learner,
    data: Data,
    progress: Progress,
    folder: Path,
    minutes: float | None,
    say: Callable[[Mapping[str, Any]], None],
) -> Progress:
    """Take the steps that are left; validate and save at intervals and at the end.

    Args:
        learner: Changed by every step.
        data: Of every task.
        progress: How far the run is.
        folder: Of the run.
        minutes: Stop after this time.
        say: Told every entry of the log.

    Returns:
        How far the run is now.

    Raises:
        InputError: If the loss is not a number.
        UnavailableError: If the memory or the disk is full.
    """
    recipe, until = learner.recipe, time.monotonic() + 60 * minutes if minutes else math.inf
    total = total_steps(recipe, data.train)
    learner.module.train()
    if overdue(recipe, progress):
        return progress
    with _log(folder / LOG, progress.step) as log:
        for number, batches in _steps(recipe, data.train, progress.step, total):
            begun = time.perf_counter()
            told = {"step": number + 1, **_step(learner, data.train, batches, number, total, progress, folder)}
            progress = replace(progress, step=number + 1)
            stopping = time.monotonic() > until
            ended = number + 1 == total
            if (number + 1) % recipe.validate_every == 0 or ended:
                measures = validate(learner, data.validation)
                if measures:
                    mean = sum(measures.values()) / len(measures)
                    progress = replace(progress, scores={**progress.scores, number + 1: mean})
                told = {**told, "validation": measures}
            told = {**told, "seconds": round(time.perf_counter() - begun, 4)}
            log.write(json.dumps(told) + "\n")
            log.flush()
            say(told)
            if "validation" in told or stopping:
                checkpoints.save(folder, learner, progress)
            if stopping or overdue(recipe, progress):
                break
    return progress


def _step(
    learner: Learner,
    data: Sequence[Packed],
    batches: Sequence[list[Item]],
    number: int,
    total: int,
    progress: Progress,
    folder: Path,
) -> dict[str, Any]:
    """Take one optimizer step over one or more batches; return what the log tells of it."""
    import torch

    recipe = learner.recipe
    rate = recipe.learning_rate * SCHEDULES[recipe.schedule](number, warmup_steps(recipe.warmup, total), total)
    for group in learner.optimizer.param_groups:
        group["lr"] = rate * group["share"]
    told: dict[str, float] = {}
    learner.optimizer.zero_grad(set_to_none=True)
    for part, items in enumerate(batches):
        # What is dropped depends on the seed and the step only: no state of chance needs to be kept.
        torch.manual_seed(_SEEDS_APART * recipe.seed + number * recipe.accumulation + part)
        try:
            losses = learner.losses(items, data)
            loss = sum(losses.values())
            if not torch.isfinite(loss):
                raise _not_a_number(losses, number, progress, folder)
            (loss / len(batches)).backward()
        except torch.OutOfMemoryError as error:
            raise UnavailableError(
                "The memory does not hold a batch: lower batch_size (and raise accumulation by as much), or max_tokens."
            ) from error
        for name, value in losses.items():
            told[name] = told.get(name, 0.0) + float(value.detach()) / len(batches)
    if recipe.clip:
        torch.nn.utils.clip_grad_norm_([one for one in learner.trained().values() if one.grad is not None], recipe.clip)
    learner.optimizer.step()
    return {"loss": sum(told.values()), "losses": told, "rate": rate}


def _not_a_number(losses: Mapping[str, Any], number: int, progress: Progress, folder: Path) -> InputError:
    import torch

    wrong = [name for name, loss in losses.items() if not torch.isfinite(loss)]
    kept = checkpoints.last(folder)
    state = f"the state of step {kept} is kept in {folder}" if kept is not None else "no state was saved yet"
    return InputError(
        f"The loss of {', '.join(wrong)} is not a number in step {number + 1}, after {progress.step} good ones; "
        f"{state}. Lower learning_rate, or look at that task's data."
    )


def total_steps(recipe: Recipe, data: Sequence[Packed]) -> int:
    """Return how many optimizer steps a recipe takes."""
    batches = recipe.epochs * batches_an_epoch(recipe, [len(one) for one in data])
    total = math.ceil(batches / recipe.accumulation)
    return min(total, recipe.steps) if recipe.steps else total


def _steps(recipe: Recipe, data: Sequence[Packed], done: int, total: int) -> Iterator[tuple[int, list[list[Item]]]]:
    """Yield the number and the batches of each step that is left."""
    sizes = [len(one) for one in data]
    batches = (batch for epoch in count() for batch in examples_of(recipe, sizes, epoch))
    asked = islice(batches, recipe.epochs * batches_an_epoch(recipe, sizes))
    for number in range(total):
        group = list(islice(asked, recipe.accumulation))
        if number >= done:
            yield number, group


def overdue(recipe: Recipe, progress: Progress) -> bool:
    """Return whether the best validation lies more of them back than the recipe's `patience`."""
    if not recipe.patience or not progress.scores:
        return False
    (best,) = progress.best(1)
    return sum(step > best for step in progress.scores) >= recipe.patience


def _log(path: Path, done: int) -> Any:
    """Open the log to go on after some steps: what a killed run told of later ones is taken out."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    kept = [line for line in lines if line.endswith("}") and json.loads(line)["step"] <= done]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in kept), encoding="utf-8")
    return path.open("a", encoding="utf-8")
