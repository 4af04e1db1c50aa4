"""Training: from a recipe to a model folder, in steps that depend on the seed, their number and the weights alone."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corpora.errors import InputError, UnavailableError
from encoders.encoder import load_encoder
from encoders.heads import write_heads
from encoders.registry import find_model
from training import checkpoints
from training.checkpoints import Progress
from training.data.building import build_tasks
from training.data.examples import read_labels
from training.data.packed import Packed, pack
from training.heads import kept_heads
from training.learner import Learner, make_learner
from training.log import write_plots
from training.processes import ALONE, Processes
from training.recipe import FILES, Recipe
from training.states import keep_states
from training.steps import Data, overdue, run_steps, total_steps, waiting
from training.trainables.base import add_to_card
from training.trainables.registry import TRAINABLES
from training.trouble import plainly
from training.validation import validate

if TYPE_CHECKING:
    from encoders.encoder import TextEncoder
    from encoders.heads import Head
    from encoders.model import Model, Weights

MODEL, _START = "model", "start"


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
        waiting: Share of the time in which steps waited for data, from 0 to 1.
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


def train(
    recipe: Recipe,
    folder: Path,
    *,
    minutes: float | None = None,
    resume: bool = False,
    say: Callable[[Mapping[str, Any]], None] = lambda _: None,
    processes: Processes = ALONE,
) -> Trained:
    """Train a model.

    Args:
        recipe: What is learned and how.
        folder: Of the run: states, log, and at the end the model.
        minutes: Stop after this time, with a state to resume from.
        resume: Go on from the last state in the folder, if there is one.
        say: Told every entry of the log, with the number of all steps as `total`.
        processes: That train together (`training.processes.joined`); the first one writes.

    Returns:
        What it came to.

    Raises:
        InputError: If data, base or recipe can't be used, the folder holds another run, or the loss is not a number.
        UnavailableError: If torch is not installed, the folder can't be written, or memory or disk are full.
        StoppedError: If the user stopped it.
    """
    base = _base(recipe)
    # So a step of several processes is one of a single process with as many batches.
    recipe = recipe.model_copy(update={"accumulation": recipe.accumulation * processes.count})
    with plainly(folder), _held(folder) if processes.first else nullcontext():
        recipe, learner, labels, data = processes.in_turn(lambda: _ready(recipe, base, folder, say, processes))
        progress = checkpoints.resume(folder, learner, _key(recipe, base, data), asked=resume)
        progress = run_steps(learner, data, progress, folder, minutes, say, processes)
        return processes.in_turn(lambda: _finish(recipe, base, learner, labels, data, progress, folder, processes))


def _ready(
    recipe: Recipe, base: Model, folder: Path, say: Callable[[Mapping[str, Any]], None], processes: Processes
) -> tuple[Recipe, Learner, dict[str, tuple[str, ...]], Data]:
    """Return the recipe as it is run, the learner, labels and data; the first process writes, the others find."""
    recipe, model, labels, data = _prepared(recipe, base, folder, say, processes)
    learner = make_learner(recipe, model, {name: max(1, len(found)) for name, found in labels.items()}, data.train)
    if recipe.keep_states:
        data = _with_states(learner, data, recipe.keep_states, say)
    return recipe, learner, labels, data


def prepare(
    recipe: Recipe, folder: Path, *, say: Callable[[Mapping[str, Any]], None] = lambda _: None
) -> dict[str, tuple[int, int]]:
    """Build and pack the data of a run, so that time on a lent accelerator goes into training alone.

    The folder then has a `recipe.json`, which trains on what was built; it needs the papers no more.

    Args:
        recipe: As for `train`, which finds the data in the folder.
        folder: Of the run.
        say: Told what each task was built of.

    Returns:
        Examples to train on and to validate on, by task.

    Raises:
        InputError: If data, base or recipe can't be used.
        UnavailableError: If the folder can't be written.
    """
    base = _base(recipe)
    with plainly(folder), _held(folder):
        recipe, _, _, data = _prepared(recipe, base, folder, say, ALONE)
        (folder / "recipe.json").write_text(_portable(recipe, folder).model_dump_json(indent=1), encoding="utf-8")
    return {
        task.name: (len(train), len(held) if held else 0)
        for task, train, held in zip(recipe.tasks, data.train, data.validation, strict=True)
    }


def _portable(recipe: Recipe, folder: Path) -> Recipe:
    """Return a recipe as it is read from a run's folder: names of files in the folder are relative to it."""

    def place(path: Path | None) -> Path | None:
        return path and (path.relative_to(folder) if path.is_relative_to(folder) else path.absolute())

    tasks = [task.model_copy(update={key: place(getattr(task, key)) for key in FILES}) for task in recipe.tasks]
    states = Path("states") if recipe.keep_states else None
    return recipe.model_copy(update={"tasks": tuple(tasks), "guard": (), "keep_states": states})


def _base(recipe: Recipe) -> Model:
    base = find_model(recipe.base)
    if base.card.architecture not in (known := TRAINABLES[recipe.trains].bases):
        raise InputError(
            f"The recipe is for another base: {recipe.trains} starts from the architecture {' or '.join(known)}, and "
            f"{recipe.base} is of the architecture {base.card.architecture}; name another base."
        )
    return base


def _prepared(
    recipe: Recipe, base: Model, folder: Path, say: Callable[[Mapping[str, Any]], None], processes: Processes
) -> tuple[Recipe, Model, dict[str, tuple[str, ...]], Data]:
    """Return the recipe as it is run, the untrained model, the labels of each task, and the data."""

    def encoder(name: str = "") -> TextEncoder:
        return load_encoder(name or base, cache_dir=folder / "graphs", precision="fp32")

    most = base.card.max_tokens
    if recipe.max_tokens > most and "max_tokens" in recipe.model_fields_set:
        raise InputError(f"The recipe has max_tokens = {recipe.max_tokens}, and {recipe.base} takes {most}; lower it.")
    recipe = recipe.model_copy(update={"max_tokens": min(recipe.max_tokens, most)})
    recipe = build_tasks(recipe, base.card.fingerprint, encoder, folder / "data", say)
    labels = {task.name: read_labels(task) for task in recipe.tasks}
    model = _started(recipe, base, folder) if processes.first else find_model(str(folder / _START))
    return recipe, model, labels, _data(recipe, labels, model, folder / "packs")


@contextmanager
def _held(folder: Path) -> Iterator[None]:
    """Make the folder of a run, and keep other processes out of it."""
    from filelock import FileLock, Timeout

    lock = FileLock(folder / ".lock", timeout=0)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock.acquire()
    except Timeout:
        raise InputError(f"Another process trains in {folder}; wait for its end, or name another folder.") from None
    except OSError as error:
        raise UnavailableError(f"{folder} can't be written ({error}); name another folder by --output.") from error
    try:
        yield
    finally:
        lock.release()


def _started(recipe: Recipe, base: Model, folder: Path) -> Model:
    """Return the untrained model, written once."""
    place, trainable = folder / _START, TRAINABLES[recipe.trains]
    options = {**trainable.options, **recipe.options}
    weights = {**base.read(), **trainable.start(base, recipe.formats, options, recipe.seed)}
    _write(recipe, base, weights, place, ())
    return find_model(str(place))


def _write(recipe: Recipe, base: Model, weights: Weights, place: Path, heads: Sequence[Head]) -> None:
    """Write a model folder in place of what was there; a kill leaves what was there or the whole folder."""
    trainable, part = TRAINABLES[recipe.trains], place.with_name(f"{place.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    trainable.write(base, recipe.formats, weights, part)
    add_to_card(part, trainable.described(recipe.formats, {**trainable.options, **recipe.options}))
    add_to_card(part, {"similarity": recipe.similarity} if recipe.similarity else {})
    if heads:
        write_heads(part, heads)
    shutil.rmtree(place, ignore_errors=True)
    part.rename(place)


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


def _with_states(learner: Learner, data: Data, folder: Path, say: Callable[[Mapping[str, Any]], None]) -> Data:
    packs = keep_states(learner, [*data.train, *data.validation], folder, say)
    train, validation = packs[: len(data.train)], packs[len(data.train) :]
    return Data(tuple(one for one in train if one), tuple(validation))


def _key(recipe: Recipe, base: Model, data: Data) -> str:
    # Validation decides which weights are kept, not how they change.
    # Names of files do not count, so that a prepared run may be moved to another machine.
    tasks = [task.model_dump_json(exclude={*FILES, "build"}) for task in recipe.tasks]
    settings = recipe.model_dump_json(exclude={"base", "tasks", "guard", "keep_states"})
    trained = [one.manifest.key for one in data.train]
    facts = [settings, tasks, bool(recipe.keep_states), base.card.fingerprint, trained]
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:24]


def _finish(
    recipe: Recipe,
    base: Model,
    learner: Learner,
    labels: Mapping[str, Sequence[str]],
    data: Data,
    progress: Progress,
    folder: Path,
    processes: Processes,
) -> Trained:
    """Write the model of the best state, or of the last one if nothing was validated."""
    total = total_steps(recipe, data.train)
    unusable = {
        task.name: sum(packed.manifest.unusable.total() for packed in both if packed)
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
    _write(recipe, base, learner.weights(), place, kept_heads(recipe, learner.heads, learner.card, labels))
    measures = validate(learner, data.validation)
    return Trained(place, progress.step, total, chosen, measures, unusable, waiting(folder), plots)
