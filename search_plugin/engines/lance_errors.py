"""What LanceDB and the file system raise, told to the user."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Concatenate, ParamSpec, Protocol, TypeVar

from corpora.errors import UnavailableError

P = ParamSpec("P")
R = TypeVar("R")


class _Rooted(Protocol):
    @property
    def root(self) -> Path: ...


S = TypeVar("S", bound=_Rooted)


def told(method: Callable[Concatenate[S, P], R]) -> Callable[Concatenate[S, P], R]:
    """Wrap a method of an object with a `root` folder in `explained`."""

    @functools.wraps(method)
    def wrapped(self: S, /, *args: P.args, **kwargs: P.kwargs) -> R:
        with explained(self.root):
            return method(self, *args, **kwargs)

    return wrapped


@contextmanager
def explained(root: Path) -> Iterator[None]:
    """Turn what LanceDB and the file system raise into a sentence for the user."""
    try:
        yield
    except (OSError, RuntimeError) as error:
        raise failure(root, error) from error


def failure(root: Path, error: Exception) -> UnavailableError:
    """Return what to tell the user about an error in a folder of indexes."""
    text = str(error)
    if "No space left" in text or "StorageFull" in text:
        return UnavailableError(
            f"The disk of {root} is full",
            "free some space and run the same command again: it goes on where it stopped",
        )
    unwritable = isinstance(error, PermissionError | FileExistsError | NotADirectoryError)
    if unwritable or "denied" in text or "Read-only" in text:
        return UnavailableError(
            f"{root} can't be written", "make it a writable folder, or give another with <engine=lance:DIR>"
        )
    reason = " ".join(text.split(", /", 1)[0].split())[:300]  # without the place in LanceDB's own sources
    return UnavailableError(
        f"The indexes in {root} can't be used ({reason})",
        "index again with <fresh> if that folder was changed by hand",
    )
