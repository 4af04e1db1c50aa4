"""Which packages are installed, and functions whose modules are imported at the first call."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from corpora.errors import UnavailableError

DISTRIBUTION = "ses-scholar"
"""The name under which ses is installed. The package index has another project called `ses`."""


@contextmanager
def needing(need: str, install: str) -> Iterator[None]:
    """Turn an `ImportError` of the block into an `UnavailableError`.

    `need` is what needs which package, as a sentence without a full stop; `install` is what `pip install` takes.
    """
    try:
        yield
    except ImportError as error:
        raise UnavailableError(need, f"run `pip install {install}`") from error


def extra(*names: str) -> str:
    """Return what `pip install` takes to add extras to the ses that is installed, quoted for a shell.

    pip finds the installed one, and fetches only what the extras need.
    """
    return f"'{DISTRIBUTION}[{','.join(names)}]'"


def optional(module: str, need: str, of_extra: str) -> Any:
    """Return a module of a library that an extra installs, or raise `UnavailableError`; `need` as of `needing`."""
    with needing(need, extra(of_extra)):
        return import_module(module)


def installed_version(package: str) -> str | None:
    """Return a package's version, None if it is not installed."""
    # A slow import, which code that only lists runtimes should not pay for.
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package)
    except PackageNotFoundError:
        return None


def deferred(module: str, name: str) -> Callable[..., Any]:
    """Return a function that calls a module's function and imports the module at the first call.

    So a registry can list functions at no cost.
    """

    def call(*args: Any, **given: Any) -> Any:
        return getattr(import_module(module), name)(*args, **given)

    return call
