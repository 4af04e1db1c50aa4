"""A recipe: which data, objectives and weights make a model. A TOML file holds one recipe, or several variants of it.

    [[variants]]
    name = "last-layers"
    trains = "last"
    options = {layers = 2}
    each_task = {objective = "contrastive"}

A key of a variant replaces the recipe's key completely; the keys in `each_task` replace those of every task.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError, model_validator

from corpora.documents import read_json, read_toml
from corpora.errors import InputError
from encoders.models.formats import Format, Similarity
from training.data.records import files_of
from training.data.scirepeval import read_config
from training.objectives import OBJECTIVES
from training.samplers import SAMPLERS
from training.schedules import SCHEDULES
from training.strict import Strict, ended, explained, nearest, one_of
from training.task import FILES, Build, TrainingTask
from training.trainables.registry import TRAINABLES

_NAME, _EACH_TASK = "name", "each_task"


class Recipe(Strict):
    """Everything that decides what is trained and how.

    Attributes:
        base: Name, folder or hub id of the model that training starts from; a folder that begins with `./` or `../`
            is relative to the recipe. `variant:NAME` is the model of another variant, such as the adapters to fuse.
        trains: Name of a trainable in `training.trainables.registry`.
        options: Options of the trainable.
        plain: Formats that keep the base's own vectors; adapters and LoRA can leave them so.
        similarity: How to compare the model's vectors, if this differs from the base.
        tasks: One or more tasks, each with a data set.
        guard: Files, folders or archives of evaluation data, relative to the recipe. Built tasks refuse papers with a
            title from these data, and the papers that the suites test on.
        sampler: Name of a sampler in `training.samplers`.
        batch_size: Examples per batch.
        accumulation: Batches per step.
        epochs: Passes over the data.
        steps: Maximum of optimizer steps, regardless of `epochs`.
        learning_rate: Peak of the schedule.
        layer_decay: Factor of the learning rate for each layer further down (ELECTRA's; SciMult's code has 0.8).
        schedule: Name of a schedule in `training.schedules`.
        warmup: Steps until the peak; a number below 1 is their share of all steps.
        weight_decay: Weight decay of AdamW.
        clip: Largest norm of the gradient; 0 for no clipping.
        max_tokens: Longer texts are cut.
        dropout: Share of values dropped in the network.
        precision: `bf16` computes in bfloat16 where that is safe.
        keep_states: Folder, relative to the recipe, for the output of the frozen first layers for each text, computed
            once and without dropout. Without it, they are computed in every step. Runs with the same base and texts
            share the folder.
        group_by_length: Whether the examples of a batch are of about the same length.
        chunk: How many texts go through the network at a time. Activations are computed again for the gradient, so the
            memory holds those of one chunk only, for any size of batch (GradCache). Without it, the memory holds those
            of the whole batch.
        activation_checkpointing: Whether each layer is computed again for the gradient, to save memory.
        validate_every: Steps between two validations.
        keep: How many of the best states to keep.
        patience: Training stops after this many validations without an improvement; 0 for no early stop.
        seed: Seed of everything drawn at random.
    """

    base: str
    trains: Annotated[str, one_of(TRAINABLES)]
    options: dict[str, int | float | str] = Field(default_factory=dict)
    plain: tuple[Format, ...] = ()
    similarity: Similarity | None = None
    tasks: tuple[TrainingTask, ...] = Field(min_length=1)
    guard: tuple[Path, ...] = ()
    sampler: Annotated[str, one_of(SAMPLERS)] = "mixed-proportional"
    batch_size: int = Field(default=16, ge=1)
    accumulation: int = Field(default=1, ge=1)
    epochs: int = Field(default=1, ge=1)
    steps: int | None = Field(default=None, ge=1)
    learning_rate: float = Field(gt=0)
    layer_decay: float = Field(default=1.0, gt=0, le=1)
    schedule: Annotated[str, one_of(SCHEDULES)] = "linear"
    warmup: float = Field(default=0, ge=0)
    weight_decay: float = Field(default=0.0, ge=0)
    clip: float = Field(default=1.0, ge=0)
    max_tokens: int = Field(default=512, ge=8)
    dropout: float = Field(default=0.1, ge=0, lt=1)
    precision: Literal["fp32", "bf16"] = "fp32"
    keep_states: Path | None = None
    group_by_length: bool = False
    chunk: int | None = Field(default=None, ge=1)
    activation_checkpointing: bool = False
    validate_every: int = Field(default=100, ge=1)
    keep: int = Field(default=1, ge=1)
    patience: int = Field(default=0, ge=0)
    seed: int = 42

    @model_validator(mode="after")
    def _consistent(self) -> Recipe:
        names = [task.name for task in self.tasks]
        if twice := next((name for name in names if names.count(name) > 1), None):
            raise ValueError(f"two tasks have the name {twice!r}; name each differently")
        known = TRAINABLES[self.trains].options
        if unknown := set(self.options) - set(known):
            options = ", ".join(known) or "none"
            raise ValueError(f"{self.trains} has no option {unknown.pop()!r}; its options are: {options}")
        for key, value in self.options.items():
            if type(value) is not type(known[key]):
                raise ValueError(f"the option {key} is {value!r}, and must be like {known[key]!r}, its default")
        if self.plain and not TRAINABLES[self.trains].plain:
            able = " and ".join(name for name, one in TRAINABLES.items() if one.plain)
            raise ValueError(f"plain needs what leaves a format as it is: {able}, not {self.trains}")
        pairs = TRAINABLES[self.trains].pairs
        if wrong := next((task for task in self.tasks if OBJECTIVES[task.objective].pairs != pairs), None):
            able = ", ".join(name for name, one in OBJECTIVES.items() if one.pairs == pairs)
            raise ValueError(f"{self.trains} can't learn {wrong.objective} of the task {wrong.name}; choose {able}")
        if pairs and self.keep_states:
            raise ValueError("a reranker reads pairs, whose states can't be kept; take keep_states out")
        if still := next((task.name for task in self.tasks if task.formats <= set(self.plain)), None):
            raise ValueError(f"the task {still} would train nothing: its formats are plain; give it another format")
        return self

    @property
    def formats(self) -> tuple[Format, ...]:
        """Formats that at least one task trains."""
        used = {task_format for task in self.tasks for task_format in task.formats}
        return tuple(one for one in Format if one in used and one not in self.plain)


def read_variants(path: Path, names: Sequence[str] = (), data: Path | None = None) -> dict[str, Recipe]:
    """Read a recipe file (TOML, or the `recipe.json` of a prepared run), which holds one recipe or several variants.

    Its key `scirepeval` may name a task configuration of SciRepEval, whose tasks join the recipe's own. Paths in it are
    relative to `data`; if that is None, to the recipe's own folder. Returns the recipes of the names, or all if there
    are none, in the order of the file and with absolute paths; a file without variants gives one, by the empty name.
    Raises `InputError` if the file cannot be read, any variant is wrong, or one that is asked for is missing.
    """
    folder = data or path.parent
    try:
        content: dict[str, Any] = read_json(path) if path.suffix == ".json" else read_toml(path)
    except (OSError, ValueError) as error:
        raise InputError(f"The recipe {path} can't be read ({error}); correct it.") from error
    if "scirepeval" in content:
        tasks = read_config(folder / str(content.pop("scirepeval")))
        content["tasks"] = [*content.get("tasks", []), *tasks]
    variants = _variants(path, content)
    if unknown := set(names) - set(variants):
        known = ", ".join(name for name in variants if name) or "none"
        raise InputError(f"The recipe {path} has no variant {unknown.pop()!r}; its variants are: {known}.")
    # All variants are checked, even those not asked for, so that mistakes show before the first is trained.
    recipes = {name: _made(path, folder, name, merged) for name, merged in variants.items()}
    return {name: recipe for name, recipe in recipes.items() if not names or name in names}


def _variants(path: Path, content: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the keys and values of each variant, with those of the recipe that it does not replace."""
    given = content.pop("variants", None)
    if given is None:
        return {"": content}
    tables: list[Any] = given if isinstance(given, list) and given else [None]
    variants = {_named(path, table): _merged(path, content, table) for table in tables}
    if len(variants) < len(tables):
        raise InputError(f"The recipe {path}: two variants have the same name; name each differently.")
    return variants


def _named(path: Path, table: Any) -> str:
    name = table.get(_NAME) if isinstance(table, dict) else None
    # It names a folder.
    if not isinstance(name, str) or not re.fullmatch(r"\w[\w.-]*", name, re.ASCII):
        raise InputError(
            f"The recipe {path}: each of its [[variants]] needs a name of letters, digits, '.', '_' and '-'."
        )
    return name


def _merged(path: Path, content: Mapping[str, Any], table: Mapping[str, Any]) -> dict[str, Any]:
    keys = (_NAME, _EACH_TASK, *Recipe.model_fields)
    if unknown := next((key for key in table if key not in keys), None):
        sentence = f"The recipe {path}, variant {table[_NAME]}: the key {unknown} is unknown; {nearest(unknown, keys)}"
        raise InputError(ended(sentence))
    own = {key: value for key, value in table.items() if key not in {_NAME, _EACH_TASK}}
    merged, each = {**content, **own}, table.get(_EACH_TASK, {})
    if not isinstance(each, dict):
        raise InputError(f"The recipe {path}, variant {table[_NAME]}: each_task is not a table of keys.")
    if isinstance(merged.get("tasks"), list):
        merged["tasks"] = [task | each if isinstance(task, dict) else task for task in merged["tasks"]]
    return merged


def _made(path: Path, folder: Path, name: str, content: Mapping[str, Any]) -> Recipe:
    try:
        return _checked(content, path, folder)
    except InputError as error:
        raise InputError(f"The variant {name}: {error.sentence}" if name else error.sentence, error.hint) from error


def _checked(content: Mapping[str, Any], path: Path, folder: Path) -> Recipe:
    """Return the recipe of some keys, with absolute paths; `InputError` if a key or value is wrong."""
    try:
        recipe = Recipe.model_validate(content)
    except ValidationError as error:
        raise InputError(ended(f"The recipe {path}: {explained(error, _TABLES, Recipe)}")) from error
    guard = tuple(folder / one for one in recipe.guard)
    if missing := next((one for one in guard if not one.exists()), None):
        raise InputError(f"The recipe {path} guards {missing}, and there is no such file or folder.")
    located = tuple(_located(task, folder) for task in recipe.tasks)
    kept = recipe.keep_states and path.parent / recipe.keep_states
    base = str(path.parent / recipe.base) if recipe.base.startswith(("./", "../")) else recipe.base
    return recipe.model_copy(update={"base": base, "tasks": located, "guard": guard, "keep_states": kept})


def _located(task: TrainingTask, folder: Path) -> TrainingTask:
    found = {key: folder / value for key in FILES if (value := getattr(task, key))}
    for key, value in found.items():
        if not (value.is_file() if key == "labels" else files_of(value)):
            raise InputError(f"The task {task.name} names {value} as its {key} file, and there is no such file.")
    if task.build is None:
        return task.model_copy(update=found)
    papers = tuple(folder / path for path in task.build.papers)
    files = {name: folder / path for name, path in task.build.files.items()}
    for path in (*papers, *files.values()):
        if not path.is_file():
            raise InputError(f"The task {task.name} is built of {path}, and there is no such file.")
    build = task.build.model_copy(update={"papers": papers, "files": files})
    return task.model_copy(update={**found, "build": build})


_TABLES: dict[str, type[Strict]] = {"build": Build, "tasks": TrainingTask}
"""The tables of a recipe by their keys, the innermost first."""
