"""Strict checks of settings, and messages for wrong ones."""

from __future__ import annotations

import difflib
from collections.abc import Collection
from typing import Any

from pydantic import BaseModel, BeforeValidator, ConfigDict


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


def ended(sentence: str) -> str:
    """Return a sentence with its full stop, unless it is a question."""
    return sentence if sentence.endswith("?") else f"{sentence}."
