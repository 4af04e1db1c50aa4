"""Libraries that products need and the rest of ses does not, imported where they are needed."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from corpora.installed import extra, needing


def optional(module: str, need: str) -> Any:
    """Return a library's module, or raise `UnavailableError`; `need` says what needs which library."""
    with needing(need, extra("products")):
        return import_module(module)
