"""Functions whose modules are imported at the first call, so that a registry can list them at no cost."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any


def deferred(module: str, name: str) -> Callable[..., Any]:
    """Return a function that calls a module's function and imports the module at the first call."""

    def call(*args: Any, **given: Any) -> Any:
        return getattr(import_module(module), name)(*args, **given)

    return call
