"""Functions whose modules are imported when they are first called: a registry then names them at no cost."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any


def deferred(module: str, name: str) -> Callable[..., Any]:
    """Return what calls a module's function, importing the module at the first call."""

    def call(*args: Any, **given: Any) -> Any:
        return getattr(import_module(module), name)(*args, **given)

    return call
