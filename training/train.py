"""Training: from a recipe to a model folder, in steps that depend on the seed, their number and the weights alone."""

from __future__ import annotations

import hashlib
import json
import math
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import count, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corpora.errors import InputError, UnavailableError
from encoders.registry import find_model
from training import checkpoints
from training.batches import batches_an_epoch, examples_of
from training.checkpoints import Progress
from training.data.examples import read_labels
from training.data.packed import Packed, pack
from training.learner import Learner, make_learner
from training.recipe import Recipe
from training.samplers.base import Item
from training.schedules import SCHEDULES
from training.trainables.registry import TRAINABLES
from training.validation import validate

if TYPE_CHECKING:
    from encoders.model import Model

LOG = "log.jsonl"
MODEL = "model"

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


@dataclass(frozen=True, slots=True)
class Trained:
    """What a run came to.

    Attributes:
        folder: The model, for `--model`; empty while the run is not finished.
        steps: Optimizer steps done.
        total: Those the recipe asks for.
        chosen: The step whose weights the model has.
        measures: Validation measures of the chosen step, by task.
        unusable: Records that gave no example, by task.
    """

    folder: Path | None
    steps: int
    total: int
    chosen: int
    measures: Mapping[str, float]
    unusable: Mapping[str, int]


def train(
    recipe: Recipe,
    folder: Path,
    *,
    minutes: float | None = None,
    resume: bool = False,
    say: Callable[[Mapping[str, Any]], None] = lambda _: None,
) -> Trained:
    """Train a model.

    Args:
        recipe: What is learned and how.
        folder: Of the run: states, log, and at the end the model.
        minutes: Stop after this time, with a state to resume from.
        resume: Go on from the last state in the folder, if there is one.
        say: Told every entry of the log.

    Returns:
        What it came to.

    Raises:
        InputError: If data, base or recipe can't be used, the folder holds another run, or the loss is not a number.
        UnavailableError: If torch is not installed, or the folder can't be written.
    """
    base = find_model(recipe.base)
    if base.card.architecture != "plain":
        raise InputError(
            f"The base {recipe.base} is of the architecture {base.card.architecture}; name a plain network."
        )
    if recipe.max_tokens > base.card.max_tokens:
        recipe = recipe.model_copy(update={"max_tokens": base.card.max_tokens})
    with _held(folder):
        labels = {task.name: read_labels(task) for task in recipe.tasks}
        model = _started(recipe, base, folder)
        data = _data(recipe, labels, model, folder / "packs")
        learner = make_learner(recipe, model, {name: max(1, len(found)) for name, found in labels.items()})
        progress = _resumed(folder, learner, _key(recipe, base, data), resume=resume)
        progress = _run(learner, data, progress, folder, minutes, say)
        return _finish(recipe, base, learner, data, progress, folder)


@contextmanager
def _held(folder: Path) -> Iterator[None]:
    """Make the folder of a run, and keep other processes out of it."""
    from filelock import FileLock, Timeout

    try:
        folder.mkdir(parents=True, exist_ok=True)
        with FileLock(folder / ".lock", timeout=0):
            yield
    except Timeout:
        raise InputError(f"Another process trains in {folder}; wait for its end, or name another folder.") from None
    except OSError as error:
        raise UnavailableError(
            f"{folder} can't be written ({error}); free some space or name another folder."
        ) from error


def _started(recipe: Recipe, base: Model, folder: Path) -> Model:
    """Return the untrained model, written once."""
    place, trainable = folder / "start", TRAINABLES[recipe.trains]
    options = {**trainable.options, **recipe.options}
    weights = {**base.read(), **trainable.start(base, recipe.formats, options, recipe.seed)}
    shutil.rmtree(place, ignore_errors=True)
    trainable.write(base, recipe.formats, weights, place)
    return find_model(str(place))


def _data(recipe: Recipe, labels: Mapping[str, Sequence[str]], model: Model, cache: Path) -> Data:
    def packed(path: Path | None, number: int) -> Packed | None:
        task = recipe.tasks[number]
        return pack(task, path, labels[task.name], model, recipe.max_tokens, cache) if path else None

    numbers = range(len(recipe.tasks))
    train = [packed(recipe.tasks[number].train, number) for number in numbers]
    return Data(
        tuple(one for one in train if one is not None),
        tuple(packed(recipe.tasks[number].validation, number) for number in numbers),
    )


def _key(recipe: Recipe, base: Model, data: Data) -> str:
    # Validation decides which weights are kept, not how they change.
    facts = [recipe.model_dump_json(), base.card.fingerprint, [one.manifest.key for one in data.train]]
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:24]


def _resumed(folder: Path, learner: Learner, key: str, *, resume: bool) -> Progress:
    step = checkpoints.last(folder)
    if step is None:
        return Progress(recipe_key=key)
    if not resume:
        raise InputError(
            f"{folder} holds a run of {step} steps; add --resume to go on with it, or name another folder."
        )
    progress = checkpoints.load(folder, step, learner)
    if progress.recipe_key != key:
        raise InputError(
            f"{folder} holds a run of another recipe, base or data; name another folder, or the same recipe."
        )
    return progress


def _run(
    learner: Learner,
    data: Data,
    progress: Progress,
    folder: Path,
    minutes: float | None,
    say: Callable[[Mapping[str, Any]], None],
) -> Progress:
    """Take the steps that are left; validate and save at intervals and at the end."""
    recipe, until = learner.recipe, time.monotonic() + 60 * minutes if minutes else math.inf
    total = total_steps(recipe, data.train)
    learner.module.train()
    if _overdue(recipe, progress):
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
            if stopping or _overdue(recipe, progress):
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
    rate = recipe.learning_rate * SCHEDULES[recipe.schedule](number, recipe.warmup, total)
    for group in learner.optimizer.param_groups:
        group["lr"] = rate
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


def _overdue(recipe: Recipe, progress: Progress) -> bool:
    """Return whether the best validation lies too far back."""
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


def _finish(recipe: Recipe, base: Model, learner: Learner, data: Data, progress: Progress, folder: Path) -> Trained:
    """Write the model of the best state, or of the last one if nothing was validated."""
    total = total_steps(recipe, data.train)
    unusable = {
        task.name: sum(packed.manifest.unusable.total() for packed in both if packed)
        for task, *both in zip(recipe.tasks, data.train, data.validation, strict=True)
    }
    if progress.step < total and not _overdue(recipe, progress):
        return Trained(None, progress.step, total, progress.step, {}, unusable)
    chosen = progress.best(1)[0] if progress.scores else progress.step
    checkpoints.load(folder, chosen, learner)
    place, part = folder / MODEL, folder / f"{MODEL}.part"
    shutil.rmtree(part, ignore_errors=True)
    TRAINABLES[recipe.trains].write(base, recipe.formats, learner.weights(), part)
    shutil.rmtree(place, ignore_errors=True)
    part.rename(place)
    return Trained(place, progress.step, total, chosen, validate(learner, data.validation), unusable)
