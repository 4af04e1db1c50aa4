"""Prepares training from a recipe: built and packed data, labels, and the untrained model on disk."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from corpora.checksums import sha256_of_text
from corpora.errors import ConflictError, InputError
from corpora.writing import explaining, locking, replacing
from encoders.encoder import load_encoder
from encoders.heads import Head, write_heads
from encoders.layouts.own_card import read_own
from encoders.models.formats import Precision
from encoders.models.model import Model, Weights, as_base
from encoders.registry import find_model
from encoders.text_encoder import TextEncoder
from training.data.building import build_tasks
from training.data.examples import read_labels
from training.data.packed import Packed, pack
from training.processes import ALONE, Processes
from training.recipe import Recipe
from training.run_errors import plain_errors
from training.steps import TrainingData
from training.task import FILES
from training.trainables.base import write_card
from training.trainables.registry import TRAINABLES

MODEL = "model"
"""The trained model's folder in the folder of its run."""

_START, _VARIANT = "start", "variant:"

Say = Callable[[Mapping[str, Any]], None]
"""Receives every entry of the log, and what was built."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """The input of training.

    Attributes:
        recipe: The recipe as it is run: with tasks of files only.
        base: The model that training starts from.
        model: The untrained model, written and read back.
        labels: Labels of each classification task; none for other tasks.
        data: The packed examples of every task.
    """

    recipe: Recipe
    base: Model
    model: Model
    labels: Mapping[str, Sequence[str]]
    data: TrainingData

    @property
    def key(self) -> str:
        """Hash over all that decides the trained weights; a run resumes only with the same."""
        # Validation decides which weights are kept, not how they change.
        # File names do not count, so that a prepared run can be moved to another machine.
        tasks = [task.model_dump_json(exclude={*FILES, "build"}) for task in self.recipe.tasks]
        settings = self.recipe.model_dump_json(exclude={"base", "tasks", "guard", "keep_states"})
        trained = [one.manifest.key for one in self.data.train]
        facts = [settings, tasks, bool(self.recipe.keep_states), self.base.card.fingerprint, trained]
        return sha256_of_text(json.dumps(facts))[:24]


def make_ready(recipe: Recipe, base: Model, folder: Path, say: Say, processes: Processes = ALONE) -> Prepared:
    """Build and pack the data of a run, and write its untrained model.

    `base` is the recipe's, from `base_of`; the folder of the run is locked by this process. `say` receives what each
    task was built from. Of processes that train together, the first writes and the others read what it wrote. Raises
    `InputError` if data, base or recipe can't be used.
    """

    def encoder(name: str = "", precision: Precision = "fp32", runtime: str | None = None) -> TextEncoder:
        return load_encoder(name or base, cache_dir=folder / "graphs", runtime=runtime, precision=precision)

    most = base.card.max_tokens
    if recipe.max_tokens > most and "max_tokens" in recipe.model_fields_set:
        raise InputError(f"The recipe has max_tokens = {recipe.max_tokens}, and {recipe.base} takes {most}; lower it.")
    recipe = recipe.model_copy(update={"max_tokens": min(recipe.max_tokens, most)})
    recipe = build_tasks(recipe, base.card.fingerprint, encoder, folder / "data", say)
    labels = {task.name: read_labels(task) for task in recipe.tasks}
    model = _started(recipe, base, folder) if processes.first else find_model(str(folder / _START))
    return Prepared(recipe, base, model, labels, _data(recipe, labels, model, folder / "packs"))


def prepare(recipe: Recipe, folder: Path, *, say: Say = lambda _: None) -> dict[str, tuple[int, int]]:
    """Build and pack the data of a run, so that a rented accelerator spends its time on training only.

    The folder then has a `recipe.json`, which trains on what was built; it no longer needs the papers. `train` finds
    the data in the folder too. Returns the examples to train on and to validate on, by task. `InputError` if data, base
    or recipe can't be used, `UnavailableError` if the folder can't be written.
    """
    recipe = with_base(recipe, folder)
    base = base_of(recipe)  # before a folder is made
    with plain_errors(folder), held(folder):
        ready = make_ready(recipe, base, folder, say)
        (folder / "recipe.json").write_text(_portable(ready.recipe, folder).model_dump_json(indent=1), encoding="utf-8")
    return {
        task.name: (len(train), len(held) if held else 0)
        for task, train, held in zip(ready.recipe.tasks, ready.data.train, ready.data.validation, strict=True)
    }


def _portable(recipe: Recipe, folder: Path) -> Recipe:
    """Return a recipe as a run's folder stores it: names of files in the folder are relative to the folder."""

    def place(path: Path | None) -> Path | None:
        return path and (path.relative_to(folder) if path.is_relative_to(folder) else path.absolute())

    tasks = [task.model_copy(update={key: place(getattr(task, key)) for key in FILES}) for task in recipe.tasks]
    states = Path("states") if recipe.keep_states else None
    return recipe.model_copy(update={"tasks": tuple(tasks), "guard": (), "keep_states": states})


def with_base(recipe: Recipe, folder: Path) -> Recipe:
    """Return a recipe whose base is a model, also if it is `variant:NAME`, whose run is beside this one.

    `InputError` if that variant has no model yet.
    """
    if not recipe.base.startswith(_VARIANT):
        return recipe
    name = recipe.base.removeprefix(_VARIANT)
    model = folder.parent / name / MODEL
    if not model.is_dir():
        raise InputError(f"The recipe starts from the variant {name}, which has no model in {model}; train it first.")
    return recipe.model_copy(update={"base": str(model)})


def base_of(recipe: Recipe) -> Model:
    """Return the model that a recipe starts from; `InputError` if what it trains can't start from it."""
    base = as_base(find_model(recipe.base))
    if base.card.architecture not in (known := TRAINABLES[recipe.trains].bases):
        raise InputError(
            f"The recipe is for another base: {recipe.trains} starts from the architecture {' or '.join(known)}, and "
            f"{recipe.base} is of the architecture {base.card.architecture}; name another base."
        )
    return base


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Make the folder of a run, and lock it against other processes."""
    busy = ConflictError(f"Another process trains in {folder}", "wait for it, or name another folder")
    with ExitStack() as stack:
        with explaining(folder, "name another folder by <output>"):
            stack.enter_context(locking(folder / ".lock", busy))
        yield


def _started(recipe: Recipe, base: Model, folder: Path) -> Model:
    """Return the untrained model, written once."""
    place, trainable = folder / _START, TRAINABLES[recipe.trains]
    options = {**trainable.options, **recipe.options}
    weights = {**base.read(), **trainable.start(base, recipe.formats, options, recipe.seed)}
    write_model(recipe, base, weights, place, ())
    return find_model(str(place))


def write_model(recipe: Recipe, base: Model, weights: Weights, place: Path, heads: Sequence[Head]) -> None:
    """Write a model folder whole or not at all."""
    trainable = TRAINABLES[recipe.trains]
    with explaining(place, "name another folder by <output>"), replacing(place, locked=True) as part:
        trainable.write(base, recipe.formats, weights, part)
        own = read_own(part)
        more = dict(trainable.described(recipe.formats, {**trainable.options, **recipe.options}))
        if recipe.plain:
            more["adapters"] = own["adapters"] | {task_format.value: "" for task_format in recipe.plain}
        if recipe.similarity:
            more["similarity"] = recipe.similarity
        if more:
            write_card(part, own | more)
        if heads:
            write_heads(part, heads)


def _data(recipe: Recipe, labels: Mapping[str, Sequence[str]], model: Model, cache: Path) -> TrainingData:
    def packed(path: Path | None, number: int) -> Packed | None:
        task = recipe.tasks[number]
        return pack(task, path, labels[task.name], model, recipe.max_tokens, cache) if path else None

    numbers = range(len(recipe.tasks))
    train = [packed(recipe.tasks[number].train, number) for number in numbers]
    return TrainingData(
        tuple(one for one in train if one is not None),
        tuple(packed(recipe.tasks[number].validation, number) for number in numbers),
    )
