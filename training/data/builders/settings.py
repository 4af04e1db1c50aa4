"""The table of a recipe that says how a task's records are made of papers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import Field, model_validator

from training.data.builders.registry import BUILDERS
from training.strict import Strict, nearest, one_of


class Build(Strict):
    """How a task's records are made of papers.

    Attributes:
        builder: A name in `training.data.builders.registry`.
        papers: Files of papers, relative to the recipe.
        validation: Share of the papers that is held out to validate on.
        files: Other files that the builder reads, by name.
        options: Of the builder.
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
