"""A task of a recipe: one data set, and what is learned from it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, field_validator, model_validator

from encoders.models.formats import Format
from training.data.builders.base import TaskType
from training.data.builders.registry import BUILDERS
from training.objectives import OBJECTIVES
from training.strict import Strict, nearest, one_of

FILES = ("train", "validation", "labels")
"""Keys of a task that name files; the files' content counts, not their location."""

_LONGEST_NAME = 100


class Build(Strict):
    """The table of a recipe that says how a task's records are made of papers.

    Attributes:
        builder: Name of a builder in `training.data.builders.registry`.
        papers: Files of papers, relative to the recipe.
        validation: Share of the papers that is held out to validate on.
        files: Other files that the builder reads, by name.
        options: Options of the builder.
    """

    builder: Annotated[str, one_of(BUILDERS)]
    papers: tuple[Path, ...] = Field(min_length=1)
    validation: float = Field(default=0.05, ge=0, lt=1)
    files: dict[str, Path] = Field(default_factory=dict)
    options: dict[str, bool | int | float | str] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _fits(self) -> Build:
        builder = BUILDERS[self.builder]
        # The task's own key sets this one.
        defaults = {name: value for name, value in builder.options.items() if name != "multi_label"}
        for kind, given, known in (("option", self.options, defaults), ("file", self.files, builder.files)):
            if unknown := next((name for name in given if name not in known), None):
                raise ValueError(f"the builder {self.builder} has no {kind} {unknown!r}; {nearest(unknown, known)}")
        for name, value in self.options.items():
            wanted = _kind(defaults[name])
            if _kind(value) != wanted:
                raise ValueError(f"the option {name} of the builder {self.builder} is {value!r}; give a {wanted}")
        return self


def _kind(value: object) -> str:
    kinds = {bool: "true or false", str: "string"}
    return kinds.get(type(value), "number")


class TrainingTask(Strict):
    """One data set and what is learned from it.

    Attributes:
        name: Name in the log, unique in a recipe: up to 100 characters that can be printed.
        type: The shape of its records, as in SciRepEval's task files; a builder's need not be named.
        train: JSON lines to train on, relative to the recipe; or a folder of Parquet files, or a pattern for them.
        build: How its records are made of papers, in place of `train`.
        validation: As `train`, to validate on, if any.
        format: The format whose vectors the task trains.
        query_format: The format of its queries, if another.
        fields: The fields of a record that make its text, in order.
        label: The field that holds the label, the labels or the number.
        labels: File with one label per line; if none, the labels of the training data.
        multi_label: Whether a record has several labels.
        objective: Name of an objective in `training.objectives`; if none, SciRepEval's for the type.
        options: Options of the objective.
        weight: Factor of its loss in the sum over tasks.
        rate: How often an epoch takes each of its examples: 0.5 takes half of them, 2 takes all twice.
        limit: Maximum of training examples.
        keep_head: Whether the model is written with the head, for tags or forecasts.
    """

    name: str
    type: TaskType
    train: Path | None = None
    build: Build | None = None
    validation: Path | None = None
    format: Format
    query_format: Format | None = None
    fields: tuple[str, ...] = ("title", "abstract")
    label: str = "label"
    labels: Path | None = None
    multi_label: bool = False
    objective: Annotated[str, one_of(OBJECTIVES)] = ""
    options: dict[str, float] = Field(default_factory=dict)
    weight: float = Field(default=1.0, gt=0)
    rate: float = Field(default=1.0, gt=0)
    limit: int | None = Field(default=None, ge=1)
    keep_head: bool = False

    @property
    def formats(self) -> set[Format]:
        """Formats of its texts."""
        return {self.format, self.query_format or self.format}

    @model_validator(mode="before")
    @classmethod
    def _defaults(cls, given: Any) -> Any:
        """Take the type from the builder, and choose SciRepEval's objective if none is named (section 4.2)."""
        if not isinstance(given, dict):
            return given
        build = given.get("build")
        if isinstance(build, dict) and (builder := BUILDERS.get(str(build.get("builder")))):
            given = {"type": builder.type} | given
        if given.get("objective"):
            return given
        by_type = {"classification": "cross-entropy", "regression": "mse", "ranked": "kl", "vectors": "vectors"}
        multi = given.get("type") == "classification" and given.get("multi_label")
        return given | {"objective": "bce" if multi else by_type.get(str(given.get("type")), "triplet")}

    @field_validator("name")
    @classmethod
    def _printable(cls, name: str) -> str:
        if not name.strip() or not name.isprintable() or len(name) > _LONGEST_NAME:
            raise ValueError(f"give a task a name of up to {_LONGEST_NAME} characters that can be printed")
        return name

    @model_validator(mode="after")
    def _one_source(self) -> TrainingTask:
        if (self.train is None) == (self.build is None):
            raise ValueError(f"the task {self.name} needs one of the keys train (a file) and build (a table)")
        if self.build and self.validation:
            raise ValueError(f"the task {self.name} is built: give the share to validate on as build.validation")
        if self.build and self.type != (wanted := BUILDERS[self.build.builder].type):
            raise ValueError(f"the builder {self.build.builder} makes tasks of the type {wanted}")
        return self

    @model_validator(mode="after")
    def _objective_fits(self) -> TrainingTask:
        objective = OBJECTIVES[self.objective]
        if self.keep_head and not objective.head:
            raise ValueError(f"the objective {self.objective} has no head to keep; remove keep_head")
        if self.type not in objective.types:
            raise ValueError(f"the objective {self.objective} takes tasks of the type {' or '.join(objective.types)}")
        if unknown := set(self.options) - set(objective.options):
            known = ", ".join(objective.options) or "none"
            raise ValueError(
                f"the objective {self.objective} has no option {unknown.pop()!r}; its options are: {known}"
            )
        return self
