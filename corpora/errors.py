"""The errors a user can meet: a kind, one plain sentence, and a hint that says what to do.

They are in the lowest layer so that every package may raise them. They are independent of the transport: only
`ses.terminal.messages` knows a kind's exit code and how a setting is written on the command line.

A hint names settings in angle brackets, with a value where there is one: `leave <quantization> out, or index again with
<fresh> and <model=specter2>`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import ClassVar, Literal

ErrorKind = Literal["invalid", "not found", "conflict", "unavailable", "stopped"]

_SETTING = re.compile(r"<([a-z][a-z0-9_]*)(?:=([^<>]*))?>")


def written(hint: str, write: Callable[[str, str | None], str]) -> str:
    """Return a hint with each setting formatted by `write`, which takes a name and a value (None for no value)."""
    return _SETTING.sub(lambda found: write(found[1], found[2]), hint)


def short_list(names: Sequence[object], most: int = 5) -> str:
    """Return the first names of a list, for a sentence, and how many more there are."""
    rest = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(map(str, names[:most])) + rest


def as_argument(name: str, value: str | None) -> str:
    """Write a setting as the argument of a function."""
    return name if value is None else f"{name}={value}"


class SesError(Exception):
    """An error to show to the user as its message alone, without a traceback.

    Args:
        sentence: One sentence: what is wrong. If there is a hint, it ends without a full stop.
        hint: Advice for the user, without a full stop; settings in angle brackets.

    Attributes:
        kind: The sort of error, for interfaces that have their own codes.
    """

    kind: ClassVar[ErrorKind] = "invalid"

    def __init__(self, sentence: str, hint: str = "") -> None:
        super().__init__(sentence, hint)
        self.sentence, self.hint = sentence, hint

    @property
    def marked(self) -> str:
        """The whole message with settings still in angle brackets, for code that formats it later."""
        return self.message(lambda name, value: f"<{name}>" if value is None else f"<{name}={value}>")

    def message(self, write: Callable[[str, str | None], str] = as_argument) -> str:
        """Return sentence and hint as one sentence, with settings formatted by `write`."""
        return f"{self.sentence}; {written(self.hint, write)}." if self.hint else self.sentence

    def __str__(self) -> str:
        return self.message()


class InputError(SesError):
    """What the user gave (a path, an option, a query, a file's content) can't be used."""


def require(condition: object, sentence: str, hint: str = "") -> None:
    """Raise `InputError` with a sentence and a hint unless the condition holds; for checks of what a user gave."""
    if not condition:
        raise InputError(sentence, hint)


class NotFoundError(InputError, KeyError):
    """What the user named does not exist: an index, a paper, a model. Also a `KeyError`, as of other mappings."""

    kind: ClassVar[ErrorKind] = "not found"


class UnavailableError(SesError):
    """Something external is missing: an engine, a model, a download, a writable folder."""

    kind: ClassVar[ErrorKind] = "unavailable"


class ConflictError(UnavailableError):
    """Another run is using the same thing, such as writing the index. Trying again later will work."""

    kind: ClassVar[ErrorKind] = "conflict"


class StoppedError(SesError):
    """The user or the system asked the program to stop, and it can resume."""

    kind: ClassVar[ErrorKind] = "stopped"
