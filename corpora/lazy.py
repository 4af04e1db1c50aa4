"""Modules that are loaded where they are first used."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import orjson
    import tantivy

    faiss: Any
    torch: Any

__all__ = ["faiss", "np", "orjson", "tantivy", "torch"]


class LazyModule(ModuleType):
    """A module that is imported when an attribute of it is first asked for."""

    def __getattr__(self, name: str) -> Any:
        value = getattr(import_module(self.__name__), name)
        setattr(self, name, value)  # so that it costs no more than a module from then on
        return value


if not TYPE_CHECKING:
    np = LazyModule("numpy")
    faiss, orjson, tantivy, torch = map(LazyModule, ("faiss", "orjson", "tantivy", "torch"))
