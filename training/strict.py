"""Strict checks of settings, and messages for wrong ones."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping
from typing import Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError


class Strict(BaseModel):
    """Settings that refuse unknown keys and never change."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def one_of(names: Any) -> BeforeValidator:
    """Return a check that a value is one of the names, which the message lists."""

    def check(value: Any) -> Any:
        if value not in names:
            raise ValueError(f"choose one of {', '.join(names)}")
        return value

    return BeforeValidator(check)


def nearest(name: str, known: Collection[str]) -> str:
    """Return advice for a misspelt name."""
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    return f"did you mean {near[0]!r}?" if near else f"there are: {', '.join(known) or 'none'}"


def explained(error: ValidationError, tables: Mapping[str, type[Strict]], whole: type[Strict]) -> str:
    """Return one plain sentence about the first wrong key or value, without its full stop.

    `whole` is the model that was not valid, and `tables` has the models of its tables by their keys, the innermost
    first.
    """
    # A key is often missing, and a list too short, because another key is wrong.
    first = min(error.errors(), key=lambda one: (one["type"] == "too_short", one["type"] == "missing"))
    place = ".".join(str(part) for part in first["loc"])
    if first["type"] == "extra_forbidden":
        inside = next((model for name, model in tables.items() if name in first["loc"]), whole)
        return f"the key {place} is unknown; {nearest(str(first['loc'][-1]), inside.model_fields)}"
    if first["type"] == "missing":
        return f"the key {place} is missing"
    reason = str(first["ctx"]["error"]) if first["type"] == "value_error" else first["msg"]
    return f"{place or 'the recipe'} is not valid: {reason}"


def ended(sentence: str) -> str:
    """Return a sentence with its full stop, unless it is a question."""
    return sentence if sentence.endswith("?") else f"{sentence}."
