"""The errors a user can meet, each one plain sentence that says what to do.

They live in the lowest layer so that every package may raise them; `ses.cli` turns them into the exit code.
"""

from typing import ClassVar


class SesError(Exception):
    """An error to show to the user as its message alone, without a traceback."""

    exit_code: ClassVar[int] = 2


class InputError(SesError):
    """What the user gave (a path, an option, a query, a file's content) can't be used."""

    exit_code: ClassVar[int] = 2


class UnavailableError(SesError):
    """Something outside that is needed isn't there: an engine, a model, a download, a folder that can be written."""

    exit_code: ClassVar[int] = 3


class StoppedError(SesError):
    """The user or the system asked the program to stop, and it can resume."""

    exit_code: ClassVar[int] = 130
