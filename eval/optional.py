"""Libraries of extras, imported where they are needed."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from corpora.errors import UnavailableError


def optional(module: str, need: str, install: str = "'ses[eval]'") -> Any:
    """Return a library's module, or raise `UnavailableError`; `need` says what needs which library."""
    try:
        return import_module(module)
    except ImportError as error:
        raise UnavailableError(f"{need}; install it: pip install {install}.") from error
