"""Trains a model from a recipe. Each step depends only on the seed, its number and the weights."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path

from encoders.models.model import Model
from training import checkpoints
from training.checkpoints import TrainingProgress
from training.learner import Learner, kept_heads, make_learner
from training.log import write_plots
from training.preparing import MODEL, Prepared, Say, base_of, held, make_ready, with_base, write_model
from training.processes import ALONE, Processes
from training.recipe import Recipe
from training.run_errors import plain_errors
from training.states import keep_states
from training.steps import TrainingData, overdue, run_steps, total_steps, waiting
from training.validation import validate

_SECOND = 1 / 60  # in minutes: with less time left, no other variant is started


@dataclass(frozen=True, slots=True)
class Trained:
    """The result of a run.

    Attributes:
        folder: The model; empty while the run is not finished.
        steps: Optimizer steps done.
        total: Steps that the recipe asks for.
        chosen: The step whose weights the model has.
        measures: Validation measures of the chosen step, by task.
        unusable: Records that gave no example, by task.
        waiting: Share of the time that steps waited for data, from 0 to 1.
        plots: Files in the folder of the run; none without matplotlib.
    """

    folder: Path | None
    steps: int
    total: int
    chosen: int
    measures: Mapping[str, float]
    unusable: Mapping[str, int]
    waiting: float
    plots: Sequence[str]


def train_variants(
    recipes: Mapping[str, Recipe],
    folder: Path,
    *,
    minutes: float | None = None,
    resume: bool = False,
    report: Callable[[str], AbstractContextManager[Say]],
    processes: Processes = ALONE,
) -> Iterator[tuple[str, Trained]]:
    """Train the variants of a recipe, one after another; yield name and result of each that was started.

    The recipes are those of `training.recipe.read_variants` by name. Each variant's run is in the folder of its name,
    one without a name in `folder` directly; with `resume`, existing runs go on. The minutes are for all variants
    together: those for which no time is left are not started. `report` provides for each variant the function that
    receives every entry of its log.
    """
    until = time.monotonic() + 60 * minutes if minutes else math.inf
    for number, (name, recipe) in enumerate(recipes.items()):
        left = max((until - time.monotonic()) / 60, 1e-9)
        if number and left < _SECOND:
            return
        with report(name) as say:
            limit = left if minutes else None
            trained = train(recipe, folder / name, minutes=limit, resume=resume, say=say, processes=processes)
        yield name, trained


def train(
    recipe: Recipe,
    folder: Path,
    *,
    minutes: float | None = None,
    resume: bool = False,
    say: Say = lambda _: None,
    processes: Processes = ALONE,
) -> Trained:
    """Train a model; the folder of the run holds states, log, and at the end the model.

    Training stops after so many minutes, with a state to resume from; `resume` takes the last state in the folder, if
    there is one. `say` receives every entry of the log, with the number of all steps as `total`. Of the processes that
    train together (`training.processes.joined`), the first writes. Raises `InputError` if data, base or recipe can't be
    used, the folder holds another run, or the loss is not a number; `UnavailableError` if torch is not installed, the
    folder can't be written, or memory or disk are full; `StoppedError` if the user stopped it.
    """
    recipe = with_base(recipe, folder)
    base = base_of(recipe)  # before a folder is made
    # So a step of several processes equals a step of one process with as many batches.
    recipe = recipe.model_copy(update={"accumulation": recipe.accumulation * processes.count})
    with plain_errors(folder), held(folder) if processes.first else nullcontext():
        ready, learner = processes.in_turn(lambda: _learner(recipe, base, folder, say, processes))
        progress = checkpoints.resume(folder, learner, ready.key, allowed=resume)
        progress = run_steps(learner, ready.data, progress, folder, minutes, say, processes)
        return processes.in_turn(lambda: _finish(ready, learner, progress, folder, processes))


def _learner(recipe: Recipe, base: Model, folder: Path, say: Say, processes: Processes) -> tuple[Prepared, Learner]:
    """Return the input of training, and the learner. The first process writes the files, and the others read them."""
    ready = make_ready(recipe, base, folder, say, processes)
    outputs = {name: max(1, len(found)) for name, found in ready.labels.items()}
    learner = make_learner(ready.recipe, ready.model, outputs, ready.data.train)
    if recipe.keep_states:
        ready = replace(ready, data=_with_states(learner, ready.data, recipe.keep_states, say))
    return ready, learner


def _with_states(learner: Learner, data: TrainingData, folder: Path, say: Say) -> TrainingData:
    packs = keep_states(learner, [*data.train, *data.validation], folder, say)
    train, validation = packs[: len(data.train)], packs[len(data.train) :]
    return TrainingData(tuple(one for one in train if one), tuple(validation))


def _finish(
    ready: Prepared, learner: Learner, progress: TrainingProgress, folder: Path, processes: Processes
) -> Trained:
    """Write the model of the best state, or of the last one if nothing was validated."""
    recipe, data = ready.recipe, ready.data
    total = total_steps(recipe, data.train)
    unusable = {
        task.name: sum(sum(packed.manifest.unusable.values()) for packed in both if packed)
        for task, *both in zip(recipe.tasks, data.train, data.validation, strict=True)
    }
    finished, place = progress.step >= total or overdue(recipe, progress), folder / MODEL
    if not processes.first:
        return Trained(place if finished else None, progress.step, total, progress.step, {}, unusable, 0.0, [])
    plots = write_plots(folder) if find_spec("matplotlib") else []
    if not finished:
        return Trained(None, progress.step, total, progress.step, {}, unusable, waiting(folder), plots)
    chosen = progress.best(1)[0] if progress.scores else progress.step
    checkpoints.load(folder, chosen, learner)
    heads = kept_heads(recipe, learner.heads, learner.card, ready.labels)
    write_model(recipe, ready.base, learner.weights(), place, heads)
    measures = validate(learner, data.validation)
    return Trained(place, progress.step, total, chosen, measures, unusable, waiting(folder), plots)
