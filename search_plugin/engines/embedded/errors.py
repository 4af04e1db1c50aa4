"""Errors of tantivy, faiss and the file system, explained to the user."""

from __future__ import annotations

import errno
import functools
import inspect
import os
import shutil
import struct
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from corpora.errors import ConflictError, UnavailableError

_FAILURES = OSError, RuntimeError, MemoryError, ValueError
"""What a file system raises that refuses, and libraries that meet a damaged file."""

MISREAD = LookupError, TypeError, AttributeError, OverflowError, struct.error, zlib.error
"""What our own code raises when stored bytes are not what they should be. Elsewhere it is a fault of the program."""

_NEARLY_FULL = 16 << 20
"""Bytes of a disk that are left free by a write that failed for lack of space."""

P = ParamSpec("P")
R = TypeVar("R")
K = TypeVar("K")


def explains_errors(kind: type[K]) -> type[K]:
    """Wrap the public methods of a class with a `root` folder in `explained`, except those that yield."""
    for name, method in list(vars(kind).items()):
        if inspect.isfunction(method) and not (name.startswith("_") or inspect.isgeneratorfunction(method)):
            setattr(kind, name, _explaining(method))
    return kind


def _explaining(method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def wrapped(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        with explained(self.root):
            return method(self, *args, **kwargs)

    return wrapped


def reads_stored(read: Callable[P, R]) -> Callable[P, R]:
    """Wrap a function that computes with stored bytes: what goes wrong in it is their damage, a `ValueError`."""

    @functools.wraps(read)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return read(*args, **kwargs)
        except MISREAD as error:
            raise ValueError(f"{type(error).__name__}: {error}") from error

    return wrapped


@contextmanager
def explained(root: Path) -> Iterator[None]:
    """Turn what the libraries and the file system raise into a sentence for the user."""
    try:
        yield
    except _FAILURES as error:
        raise failure(root, error) from error
    except BaseException as error:
        # Rust code panics on damaged files; the exception's type can't be imported.
        if type(error).__name__ == "PanicException":
            raise failure(root, error) from error
        raise


def failure(root: Path, error: BaseException) -> UnavailableError:
    """Return what to tell the user about an error in a folder of indexes."""
    text = str(error)
    # tantivy doesn't say what went wrong in its threads.
    filled = "error occurred in a thread" in text and shutil.disk_usage(root).free < _NEARLY_FULL
    if filled or "No space left" in text or "StorageFull" in text:
        return UnavailableError(f"The disk of {root} is full", "free some space and try again: it resumes")
    if "LockBusy" in text:
        return ConflictError(f"Another process is writing the same index in {root}", "wait until it is done")
    if isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG:
        return UnavailableError(f"The path of {root} is too long", "give a shorter one with <engine=embedded:DIR>")
    if isinstance(error, PermissionError) and error.filename and not os.access(error.filename, os.R_OK):
        return UnavailableError(f"{error.filename} can't be read ({error.strerror})", "let this user read it")
    # Below the folder, a file in the place of a folder is damage.
    unwritable = isinstance(error, FileExistsError | NotADirectoryError) and not root.is_dir()
    if unwritable or isinstance(error, PermissionError) or "denied" in text or "Read-only" in text:
        return UnavailableError(
            f"{root} can't be written", "make it a writable folder, or give another with <engine=embedded:DIR>"
        )
    reason = " ".join(text.split())[:300] or type(error).__name__
    return UnavailableError(
        f"The indexes in {root} are damaged or can't be used ({reason})", "index again with <fresh>"
    )
