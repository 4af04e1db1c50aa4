"""Libraries of extras, imported where they are needed."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from corpora.installed import extra, needing


def optional(module: str, need: str, install: str = extra("eval")) -> Any:
    """Return a library's module, or raise `UnavailableError`; `need` says what needs which library."""
    with needing(need, install):
        return import_module(module)
