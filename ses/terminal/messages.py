"""Errors as the command line shows them: the exit code of each kind, and settings written as flags."""

from __future__ import annotations

import errno
import shlex
import traceback
from collections.abc import Mapping
from pathlib import Path

from corpora.errors import ErrorKind, SesError, written

EXIT_CODES: Mapping[ErrorKind, int] = {"invalid": 2, "not found": 2, "conflict": 3, "unavailable": 3, "stopped": 130}

_OTHER_NAMES = {"columns": "column", "facets": "facet", "fields": "field", "weights": "weight", "from_date": "from"}
"""Settings whose flag has another name: those that take several values in Python, and a word that Python keeps."""


def as_flag(name: str, value: str | None = None) -> str:
    """Write a setting as a flag, with its value quoted for a shell."""
    flag = f"--{_OTHER_NAMES.get(name, name).replace('_', '-')}"
    return flag if value is None else f"{flag} {shlex.quote(value)}"


def with_flags(text: str) -> str:
    """Return a text with the settings in angle brackets replaced by flags."""
    return written(text, as_flag)


def message_of(error: SesError) -> str:
    """Return an error's message for a user of the command line."""
    return error.message(as_flag)


FAULT = 70
"""The exit code of a fault of ses itself, as of sysexits.h."""


def explained(error: BaseException) -> tuple[str, int]:
    """Return the sentence for an error that ended a command, and the exit code."""
    if isinstance(error, SesError):
        return message_of(error), EXIT_CODES[error.kind]
    if isinstance(error, ImportError):
        from ses.terminal.foreign import foreign_packages

        if foreign := " ".join(foreign_packages()):
            return foreign, 3
    if isinstance(error, MemoryError):
        return "The memory is full; close other programs, or take a smaller part of the corpus.", 3
    if isinstance(error, OSError):
        if error.errno == errno.ENOSPC:
            return f"A disk is full ({error}); free some space, and run the same command again.", 3
        what = f"{error.filename} can't be used" if error.filename is not None else "A file or a connection failed"
        return f"{what} ({error.strerror or error}); check it, and run the same command again.", 3
    return f"{_place(error)} of ses has a fault ({type(error).__name__}: {error}); please report it.", FAULT


def _place(error: BaseException) -> str:
    """Return the innermost line of ses in a traceback."""
    root = Path(__file__).parents[2]
    frames = traceback.extract_tb(error.__traceback__)
    inside = [frame for frame in frames if Path(frame.filename).is_relative_to(root) and frame.lineno]
    return f"Line {inside[-1].lineno} of {Path(inside[-1].filename).relative_to(root)}" if inside else "Some line"
