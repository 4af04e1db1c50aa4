"""A recipe: which data, objectives and weights make a model. One TOML file each."""

from __future__ import annotations

import difflib
import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from corpora.errors import InputError
from encoders.formats import Format
from training.data.scirepeval import read_config
from training.objectives.registry import OBJECTIVES
from training.samplers.registry import SAMPLERS
from training.schedules import SCHEDULES
from training.trainables.registry import TRAINABLES

TaskType = Literal["classification", "regression", "ir", "triplet", "ranked"]
"""SciRepEval's four, and `ranked`: a query and candidates with a teacher's scores."""


def _one_of(names: Any) -> BeforeValidator:
    """Return a check that a value is one of the names, which the message lists."""

    def check(value: Any) -> Any:
        if value not in names:
            raise ValueError(f"choose one of {', '.join(names)}")
        return value

    return BeforeValidator(check)


class Strict(BaseModel):
    """Settings that refuse unknown keys and never change."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Task(Strict):
    """One data set and what is learned from it.

    Attributes:
        name: For the log, unique in a recipe.
        type: The shape of its records, as in SciRepEval's task files.
        train: JSON lines to train on, relative to the recipe.
        validation: JSON lines to validate on, if any.
        format: The format whose vectors it trains.
        query_format: The format of its queries, if another.
        fields: The fields of a record that make its text, in order.
        label: The field that holds the label, the labels or the number.
        labels: File with one label a line; if none, the labels of the training data.
        multi_label: Whether a record has several labels.
        objective: A name in `training.objectives.registry`; if none, SciRepEval's for the type.
        options: Of the objective.
        weight: Factor of its loss in the sum over tasks.
        limit: Most training examples to use.
    """

    name: str
    type: TaskType
    train: Path
    validation: Path | None = None
    format: Format
    query_format: Format | None = None
    fields: tuple[str, ...] = ("title", "abstract")
    label: str = "label"
    labels: Path | None = None
    multi_label: bool = False
    objective: Annotated[str, _one_of(OBJECTIVES)] = ""
    options: dict[str, float] = Field(default_factory=dict)
    weight: float = Field(default=1.0, gt=0)
    limit: int | None = Field(default=None, ge=1)

    @model_validator(mode="before")
    @classmethod
    def _default_objective(cls, given: Any) -> Any:
        """Choose SciRepEval's objective where none is named (section 4.2)."""
        if not isinstance(given, dict) or given.get("objective"):
            return given
        by_type = {"classification": "cross-entropy", "regression": "mse", "ranked": "kl"}
        multi = given.get("type") == "classification" and given.get("multi_label")
        return given | {"objective": "bce" if multi else by_type.get(str(given.get("type")), "triplet")}

    @model_validator(mode="after")
    def _objective_fits(self) -> Task:
        objective = OBJECTIVES[self.objective]
        if self.type not in objective.types:
            raise ValueError(f"the objective {self.objective} takes tasks of the type {' or '.join(objective.types)}")
        if unknown := set(self.options) - set(objective.options):
            known = ", ".join(objective.options) or "none"
            raise ValueError(
                f"the objective {self.objective} has no option {unknown.pop()!r}; its options are: {known}"
            )
        return self


class Recipe(Strict):
    """Everything that decides what is trained and how.

    Attributes:
        base: Name, folder or hub id of the plain model that training starts from.
        trains: A name in `training.trainables.registry`.
        options: Of what is trained.
        tasks: The data sets, one or more.
        sampler: A name in `training.samplers.registry`.
        batch_size: Examples a batch.
        accumulation: Batches a step.
        epochs: Passes over the data.
        steps: Most optimizer steps, whatever `epochs` says.
        learning_rate: Peak of the schedule.
        schedule: A name in `training.schedules`.
        warmup: Steps until the peak.
        weight_decay: Of AdamW.
        clip: Largest norm of the gradient; 0 for no clipping.
        max_tokens: Longer texts are cut.
        dropout: Share of values dropped in the network.
        precision: `bf16` computes in bfloat16 where that is safe.
        validate_every: Steps between two validations.
        keep: How many of the best states to keep.
        patience: Validations without a better one until training stops; 0 for no early stop.
        seed: Of everything drawn at random.
    """

    base: str
    trains: Annotated[str, _one_of(TRAINABLES)]
    options: dict[str, int] = Field(default_factory=dict)
    tasks: tuple[Task, ...] = Field(min_length=1)
    sampler: Annotated[str, _one_of(SAMPLERS)] = "mixed-proportional"
    batch_size: int = Field(default=16, ge=1)
    accumulation: int = Field(default=1, ge=1)
    epochs: int = Field(default=1, ge=1)
    steps: int | None = Field(default=None, ge=1)
    learning_rate: float = Field(gt=0)
    schedule: Annotated[str, _one_of(SCHEDULES)] = "linear"
    warmup: int = Field(default=0, ge=0)
    weight_decay: float = Field(default=0.0, ge=0)
    clip: float = Field(default=1.0, ge=0)
    max_tokens: int = Field(default=512, ge=8)
    dropout: float = Field(default=0.1, ge=0, lt=1)
    precision: Literal["fp32", "bf16"] = "fp32"
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
            told = ", ".join(known) or "none"
            raise ValueError(f"{self.trains} has no option {unknown.pop()!r}; its options are: {told}")
        return self

    @property
    def formats(self) -> tuple[Format, ...]:
        """Formats that some task trains."""
        used = {task.format for task in self.tasks} | {task.query_format for task in self.tasks}
        return tuple(task_format for task_format in Format if task_format in used)


def read_recipe(path: Path) -> Recipe:
    """Read a recipe; the paths in it are relative to its folder.

    Its key `scirepeval` may name a task configuration of SciRepEval, whose tasks join the recipe's own.

    Args:
        path: A TOML file.

    Returns:
        The recipe, with whole paths.

    Raises:
        InputError: If the file cannot be read, or a key or value is wrong.
    """
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"The recipe {path} can't be read ({error}); correct it.") from error
    if "scirepeval" in content:
        tasks = read_config(path.parent / str(content.pop("scirepeval")))
        content["tasks"] = [*content.get("tasks", []), *tasks]
    try:
        recipe = Recipe.model_validate(content)
    except ValidationError as error:
        raise InputError(f"The recipe {path}: {_told(error.errors()[0])}.") from error
    return recipe.model_copy(update={"tasks": tuple(_located(task, path.parent) for task in recipe.tasks)})


def _located(task: Task, folder: Path) -> Task:
    found = {key: folder / value for key in ("train", "validation", "labels") if (value := getattr(task, key))}
    for key, value in found.items():
        if not value.is_file():
            raise InputError(f"The task {task.name} names {value} as its {key} file, and there is no such file.")
    return task.model_copy(update=found)


def _told(error: Any) -> str:
    """Return one plain sentence for a wrong key or value."""
    place = ".".join(str(part) for part in error["loc"])
    if error["type"] == "extra_forbidden":
        known = Task.model_fields if "tasks" in error["loc"] else Recipe.model_fields
        near = difflib.get_close_matches(str(error["loc"][-1]), known, n=1, cutoff=0.5)
        advice = f"did you mean {near[0]!r}?" if near else f"the keys are {', '.join(known)}"
        return f"the key {place} is unknown; {advice}"
    if error["type"] == "missing":
        return f"the key {place} is missing"
    reason = str(error["ctx"]["error"]) if error["type"] == "value_error" else error["msg"]
    return f"{place or 'the recipe'} can't be so: {reason}"
