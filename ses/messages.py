"""Errors as the command line shows them: the exit code of each kind, and settings written as flags."""

from __future__ import annotations

import shlex
from collections.abc import Mapping

from corpora.errors import ErrorKind, SesError, written

EXIT_CODES: Mapping[ErrorKind, int] = {"invalid": 2, "not found": 2, "conflict": 3, "unavailable": 3, "stopped": 130}

_REPEATABLE = {"columns": "column", "facets": "facet", "fields": "field", "weights": "weight"}
"""Settings that take several values in Python; on the command line a flag of another name is repeated."""


def as_flag(name: str, value: str | None = None) -> str:
    """Write a setting as a flag, with its value quoted for a shell."""
    flag = f"--{_REPEATABLE.get(name, name).replace('_', '-')}"
    return flag if value is None else f"{flag} {shlex.quote(value)}"


def with_flags(text: str) -> str:
    """Return a text with the settings in angle brackets replaced by flags."""
    return written(text, as_flag)


def message_of(error: SesError) -> str:
    """Return an error's message for a user of the command line."""
    return error.message(as_flag)
