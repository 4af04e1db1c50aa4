"""Runs the steps of training. Each step depends only on the seed, its number and the weights."""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import count, islice
from pathlib import Path
from typing import Any

from corpora.errors import InputError, StoppedError
from corpora.lazy import torch
from training import checkpoints
from training.batches import TaskBatch, ahead, batches_an_epoch, examples_of, parts_of
from training.checkpoints import TrainingProgress
from training.data.packed import Packed
from training.learner import Learner
from training.log import open_log, read_log
from training.processes import ALONE, Processes
from training.recipe import Recipe
from training.run_errors import not_a_number
from training.samplers import Item
from training.schedules import SCHEDULES, warmup_steps
from training.validation import validate

_SEEDS_APART = 1_000_003
"""More batches than a run has, so that runs with neighbouring seeds draw differently."""


@dataclass(frozen=True, slots=True)
class Ready:
    """A batch that is ready for the network: its number in the step, its examples, and the network's input."""

    number: int
    items: Sequence[Item]
    parts: Sequence[TaskBatch]


@dataclass(frozen=True, slots=True)
class TrainingData:
    """The training examples of every task, and the validation examples of tasks that have some."""

    train: tuple[Packed, ...]
    validation: tuple[Packed | None, ...]


def run_steps(
    learner: Learner,
    data: TrainingData,
    progress: TrainingProgress,
    folder: Path,
    minutes: float | None,
    say: Callable[[Mapping[str, Any]], None],
    processes: Processes = ALONE,
) -> TrainingProgress:
    """Run the remaining steps; validate and save at intervals and at the end; return how far the run is then.

    The steps change the learner's model and optimizer. They stop after so many minutes; `say` receives every entry of
    the log. Raises `InputError` if the loss is not a number, `UnavailableError` if the disk is full, and `StoppedError`
    if a signal asked for it; the state is then saved.
    """
    recipe, until = learner.recipe, time.monotonic() + 60 * minutes if minutes else math.inf
    total = total_steps(recipe, data.train)
    learner.module.train()
    if overdue(recipe, progress):
        return progress
    steps = ahead(_steps(learner, data.train, progress.step, total, processes))
    with _written(folder, progress.step, processes) as write, asked_to_stop() as stop_requested:
        for waited, (number, batches, size) in steps:
            begun = time.perf_counter()
            entry = {"step": number + 1, **_step(learner, data.train, batches, size, number, total, folder, processes)}
            progress = replace(progress, step=number + 1)
            late, signalled = processes.summed([time.monotonic() > until, stop_requested()])
            if (number + 1) % recipe.validate_every == 0 or number + 1 == total:
                measures = _validated(learner, data.validation, number + 1, folder, processes)
                if measures:
                    mean = sum(measures.values()) / len(measures)
                    progress = replace(progress, scores={**progress.scores, number + 1: mean})
                entry = {**entry, "validation": measures}
            entry = {**entry, "seconds": round(time.perf_counter() - begun, 4), "waited": round(waited, 4)}
            write(entry)
            say({**entry, "total": total})
            if processes.first and ("validation" in entry or late or signalled):
                checkpoints.save(folder, learner, progress)
            if signalled and number + 1 < total:
                raise StoppedError(f"Stopped after {number + 1} of {total} steps", "train again with <resume> to go on")
            if late or overdue(recipe, progress):
                break
    return progress


@contextmanager
def _written(folder: Path, done: int, processes: Processes) -> Iterator[Callable[[Mapping[str, Any]], None]]:
    """Yield a function that writes an entry of the log, in the first process."""
    if not processes.first:
        yield lambda _: None
        return
    with open_log(folder, done) as log:
        yield log.write


def _step(
    learner: Learner,
    data: Sequence[Packed],
    batches: Sequence[Ready],
    count: int,
    number: int,
    total: int,
    folder: Path,
    processes: Processes,
) -> dict[str, Any]:
    """Take one optimizer step over this process's share of its batches; return its entry for the log."""
    recipe = learner.recipe
    rate = recipe.learning_rate * SCHEDULES[recipe.schedule](number, warmup_steps(recipe.warmup, total), total)
    for group in learner.optimizer.param_groups:
        group["lr"] = rate * group["share"]
    means: dict[str, float] = {}
    learner.optimizer.zero_grad(set_to_none=True)
    for batch in batches:
        # Dropout depends on the seed and the step only, so no random state needs to be saved.
        torch.manual_seed(_SEEDS_APART * recipe.seed + number * recipe.accumulation + batch.number)
        losses = learner.losses(batch.parts)
        loss = sum(losses.values())
        if not torch.isfinite(loss):
            wrong = [name for name, one in losses.items() if not torch.isfinite(one)]
            where = f"batch {batch.number + 1} of step {number + 1}"
            raise not_a_number(learner, data, batch.items, f"The loss of {', '.join(wrong)}", where, folder)
        (loss / count).backward()
        for name, value in losses.items():
            means[name] = means.get(name, 0.0) + float(value.detach()) / count
    trained = list(learner.trained().values())
    processes.sum_gradients(trained)
    norm = torch.nn.utils.clip_grad_norm_([one for one in trained if one.grad is not None], recipe.clip or math.inf)
    if not torch.isfinite(norm):
        items = [item for batch in batches for item in batch.items]
        raise not_a_number(learner, data, items, "The gradient", f"step {number + 1}", folder)
    learner.optimizer.step()
    means = _of_all(recipe, means, processes)
    return {"loss": sum(means.values()), "losses": means, "rate": rate}


def _of_all(recipe: Recipe, losses: Mapping[str, float], processes: Processes) -> dict[str, float]:
    """Return the losses of the tasks that at least one process had in a step."""
    names = [task.name for task in recipe.tasks]
    sums = processes.summed([*(losses.get(name, 0.0) for name in names), *(name in losses for name in names)])
    return {name: loss for name, loss, count in zip(names, sums, sums[len(names) :], strict=False) if count}


def _validated(
    learner: Learner, data: Sequence[Packed | None], step: int, folder: Path, processes: Processes
) -> dict[str, float]:
    """Return the measures of all validated tasks. The first process measures, and the others receive its results."""
    names = [task.name for task, packed in zip(learner.recipe.tasks, data, strict=True) if packed is not None]
    taken = validate(learner, data) if processes.first else dict.fromkeys(names, 0.0)
    measures = dict(zip(names, processes.summed([taken[name] for name in names]), strict=True))
    if broken := [name for name, measure in measures.items() if math.isnan(measure)]:
        kept = checkpoints.last(folder)
        state = f"the state of step {kept} is kept in {folder}" if kept is not None else "no state was saved yet"
        raise InputError(
            f"After step {step} the vectors of {', '.join(broken)} are not numbers; {state}. Lower learning_rate."
        )
    return measures


def total_steps(recipe: Recipe, data: Sequence[Packed]) -> int:
    """Return how many optimizer steps a recipe takes."""
    batches = recipe.epochs * batches_an_epoch(recipe, [len(one) for one in data])
    total = math.ceil(batches / recipe.accumulation)
    return min(total, recipe.steps) if recipe.steps else total


def _steps(
    learner: Learner, data: Sequence[Packed], done: int, total: int, processes: Processes
) -> Iterator[tuple[int, list[Ready], int]]:
    """Yield for each remaining step: its number, this process's share of its batches, and the number of its batches."""
    recipe = learner.recipe
    sizes = [len(one) for one in data]
    batches = (batch for epoch in count() for batch in examples_of(recipe, data, epoch))
    due = islice(batches, recipe.epochs * batches_an_epoch(recipe, sizes))
    for number in range(total):
        group = list(islice(due, recipe.accumulation))
        if number >= done:
            shared = processes.share(list(enumerate(group)))
            ready = [Ready(part, items, parts_of(recipe, learner.card, items, data)) for part, items in shared]
            yield number, ready, len(group)


def waiting(folder: Path) -> float:
    """Return the share of a run's time in which its steps waited for data, from its log."""
    entries = read_log(folder)
    waited = sum(entry.get("waited", 0.0) for entry in entries)
    return waited / (sum(entry["seconds"] for entry in entries) + waited) if entries else 0.0


def overdue(recipe: Recipe, progress: TrainingProgress) -> bool:
    """Return whether the best validation is more than `patience` validations ago."""
    if not recipe.patience or not progress.scores:
        return False
    (best,) = progress.best(1)
    return sum(step > best for step in progress.scores) >= recipe.patience


_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def asked_to_stop() -> Iterator[Callable[[], bool]]:
    """Provide a function that says whether Ctrl-C or SIGTERM came: the current step is finished and saved first.

    A second signal ends the process at once.
    """
    if threading.current_thread() is not threading.main_thread():
        # Only the main thread can handle signals.
        yield lambda: False
        return
    noted: list[int] = []

    def note(number: int, _: object) -> None:
        noted.append(number)
        _restore(before)

    before = {number: signal.signal(number, note) for number in _SIGNALS}
    try:
        yield lambda: bool(noted)
    finally:
        _restore(before)


def _restore(handlers: Mapping[signal.Signals, object]) -> None:
    for number, handler in handlers.items():
        signal.signal(number, handler)  # type: ignore[arg-type]
